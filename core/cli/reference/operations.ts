// docs/reference/operations.md: every operation by area, with who may call it and how it can fail.
import type { AnyOperation } from "../../contract/operation.ts"
import { byName, fieldsOf, fieldTable, generatedNote } from "../markdown.ts"

export function operationsReference(operations: readonly AnyOperation[]): string {
  const areas = Map.groupBy(
    byName(operations, ({ name }) => name),
    ({ name }) => name.split(".")[0] ?? name,
  )
  const sections = [...areas].flatMap(([area, inArea]) => [`## ${area}`, ...inArea.flatMap(section)])
  return `${[
    generatedNote("the operations' declarations"),
    "# Operations",
    "Every call carries `Authorization: Bearer <key>`; `X-Organization-ID` selects an organization other than the key's own. Fields named in the path stand there, those of GET and DELETE in the query, all others in a JSON body. `config/openapi.json` says the same for programs.",
    ...sections,
  ].join("\n\n")}\n`
}

function section(operation: AnyOperation): string[] {
  const { access, http } = operation
  const rights = `Scope \`${access.scope}\`, role \`${access.role}\`${access.staff ? ", staff only" : ""}.`
  const errors = operation.errors.length === 0 ? "" : ` Fails with ${operation.errors.map((code) => `\`${code}\``).join(", ")}.`
  return [
    `### ${operation.name}`,
    `\`${http.method} ${http.path}\``,
    [operation.summary, operation.description].filter(Boolean).join(" "),
    rights + errors,
    fieldTable(fieldsOf(operation.input)),
  ]
}
