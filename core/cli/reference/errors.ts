// docs/reference/errors.md: every error code, as each surface says it.
import { httpStatusOf } from "../../kernel/errors.ts"
import { coreReasons, type Reasons } from "../../kernel/reasons.ts"
import { errorMeanings } from "../../surface/openapi/error-meanings.ts"
import { generatedNote, table } from "../markdown.ts"
import { exitCodeOf } from "../operations/problem.ts"

interface Owner {
  readonly id: string
  readonly reasons?: Reasons
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
    "Every error is `{ code, message, details }`: over HTTP as the body, over MCP as a tool error, from the client as a `ClientError`, from a command with `--json` on standard error. `code` is one of these; `message` is for people; `details.reason` is one of the stable words below, and `details.fields` holds `{ path, message }` for every field that is not valid.",
    table(["code", "HTTP status", "exit code of a command", "means", "then"], rows),
    "Three cases have other HTTP statuses: 405 `unimplemented` with `Allow`, 413 `resource_exhausted`, 415 `invalid_argument`. A command exits with 0 on success, and with 1 when the command line, a file or a profile is wrong, before anything was sent.",
    "## Reasons",
    "The values of `details.reason`. A plugin registers its own in the `reasons` of its `definePlugin`.",
    reasonTable([{ id: "core", reasons: coreReasons }, ...plugins]),
  ].join("\n\n")}\n`
}

function reasonTable(owners: readonly Owner[]): string {
  const rows = owners.flatMap(({ id, reasons = {} }) =>
    Object.entries(reasons).map(([reason, { codes, summary, details = {} }]) => {
      const further = Object.entries(details).map(([name, holds]) => `\`${name}\`: ${holds}`)
      return [`\`${reason}\``, codes.map((code) => `\`${code}\``).join(", "), [summary, ...further].join(" "), id]
    }),
  )
  rows.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))
  return table(["reason", "codes", "means", "of"], rows)
}
