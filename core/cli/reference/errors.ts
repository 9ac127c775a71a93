// docs/reference/errors.md: every error code, as each surface says it.
import { httpStatusOf } from "../../kernel/errors.ts"
import { errorMeanings } from "../../surface/openapi/error-meanings.ts"
import { generatedNote, table } from "../markdown.ts"
import { exitCodeOf } from "../operations/problem.ts"

export function errorsReference(): string {
  const codes = Object.keys(httpStatusOf) as (keyof typeof httpStatusOf)[]
  const rows = codes.map((code) => {
    const { means, advice } = errorMeanings[code]
    return [`\`${code}\``, String(httpStatusOf[code]), String(exitCodeOf[code]), means, advice]
  })
  return `${[
    generatedNote("the error codes"),
    "# Errors",
    "Every refusal and failure is `{ code, message, details }`: over HTTP as the body, over MCP as a tool error, from the client as a `ClientError`, from a command with `--json` on standard error. `code` is one of these; `message` is for people; `details.reason` is a stable word where a code has several causes, and `details.fields` holds `{ path, message }` for every field that was wrong.",
    table(["code", "HTTP status", "exit code of a command", "means", "then"], rows),
    "HTTP has statuses of its own for three of them: 405 `unimplemented` with `Allow`, 413 `resource_exhausted`, 415 `invalid_argument`. A command ends with 0 when it is done, and with 1 when the command line, a file or a profile is wrong, before anything was sent.",
  ].join("\n\n")}\n`
}
