// docs/reference/errors.md: every error code in the form of each surface, and every reason with its code and details.
import { httpStatusOf } from "../../kernel/errors.ts"
import type { ReasonSpec, ReasonSpecs } from "../../kernel/reasons/define.ts"
import { coreReasonGroups } from "../../kernel/reasons.ts"
import { errorMeanings } from "../../surface/openapi/components.ts"
import { generatedNote, table } from "../markdown.ts"
import { exitCodeOf } from "../operations/problem.ts"

interface Owner {
  readonly id: string
  readonly reasons?: ReasonSpecs
}

export function errorsReference(plugins: readonly Owner[]): string {
  const codes = Object.keys(httpStatusOf) as (keyof typeof httpStatusOf)[]
  const rows = codes.map((code) => {
    const { means, advice } = errorMeanings[code]
    return [`\`${code}\``, String(httpStatusOf[code]), String(exitCodeOf[code]), means, advice]
  })
  return `${[
    generatedNote("the error codes"),
    "# Errors",
    "Every error is `{ code, message, details }`: over HTTP as the body, over MCP as a tool error, from the client as a `ClientError`, from a command with `--json` on standard error. `code` is one of these; `message` is for people; `details.reason` is one of the stable words below.",
    table(["code", "HTTP status", "exit code of a command", "means", "then"], rows),
    "Three cases have other HTTP statuses: 405 `unimplemented` with `Allow`, 413 `resource_exhausted`, 415 `invalid_argument`. A command exits with 0 on success, and with 1 when the command line, a file or a profile is wrong, before anything was sent.",
    "## Reasons",
    "The values of `details.reason`, each with its one code. `details` holds what the third column names; what is marked with ? may be absent. `fields` is a list of `{ path, message }`, one for each field that is not valid. In the journal, `retryable: false` marks an error of a step that is not retried; in an answer, `committed: true` says that the change was made all the same.",
    "A plugin registers reasons of its own in the `reasons` of its `definePlugin` ([your first plugin](../first-plugin.md)).",
    ...Object.entries(coreReasonGroups).flatMap(([title, reasons]) => section(title, reasons)),
    ...plugins.flatMap(({ id, reasons = {} }) => (Object.keys(reasons).length > 0 ? section(`Plugin ${id}`, reasons) : [])),
  ].join("\n\n")}\n`
}

function section(title: string, reasons: ReasonSpecs): string[] {
  const rows = Object.entries(reasons).map(([reason, spec]) => [
    `\`${reason}\``,
    `\`${spec.code}\``,
    spec.summary,
    detailsOf(spec),
    remedyOf(spec),
  ])
  rows.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))
  return [`### ${title}`, table(["reason", "code", "when", "details", "what to do"], rows)]
}

function detailsOf({ details = {} }: ReasonSpec): string {
  const named = Object.entries(details).map(([name, schema]) => {
    const mark = schema.safeParse(undefined).success ? "?" : ""
    if (name === "fields") return `\`fields\`${mark}`
    return `\`${name}\`${mark}: ${schema.description ?? ""}`
  })
  return named.join(" ")
}

function remedyOf({ code, remedy, details }: ReasonSpec): string {
  return remedy ?? (code === "invalid_argument" && !details?.["fields"] ? "Correct what the message names." : errorMeanings[code].advice)
}
