// docs/reference/operations: an index, and a page for each area of the API with its operations, permitted callers and errors.
import { type AnyOperation, fulfilled, type GivenCall, type OperationExample } from "../../contract/operation.ts"
import { byName, fenced, fieldsOf, fieldTable, generatedNote, pageOf, table } from "../markdown.ts"

/** Texts by path. */
export function operationPages(operations: readonly AnyOperation[]): Record<string, string> {
  const areas = Map.groupBy(
    byName(operations, ({ name }) => name),
    ({ name }) => name.split(".")[0] ?? name,
  )
  const rows = [...areas].flatMap(([area, inArea]) =>
    inArea.map(({ name, http, summary }) => [
      `[\`${name}\`](operations/${area}.md#${anchorOf(name)})`,
      `\`${http.method} ${http.path}\``,
      summary,
    ]),
  )
  const index = pageOf([
    generatedNote("the operations' declarations"),
    "# Operations",
    "Every call carries `Authorization: Bearer <key>`; `X-Organization-ID` selects an organization other than the key's own. Fields named in the path are path parameters; other fields of GET and DELETE are query parameters, all others are in a JSON body. Each operation is also a command (`millrace <area> <verb>`), an MCP tool and a method of the client, unless its section says why not. `GET /openapi.json` is the same for programs; [errors.md](errors.md) lists the errors.",
    table(["operation", "", ""], rows),
  ])
  return {
    "docs/reference/operations.md": index,
    ...Object.fromEntries([...areas].map(([area, inArea]) => [`docs/reference/operations/${area}.md`, page(area, inArea)])),
  }
}

function page(area: string, operations: readonly AnyOperation[]): string {
  return pageOf([
    generatedNote("the operations' declarations"),
    `# ${area}`,
    "See [operations](../operations.md) for what applies to every call.",
    ...operations.flatMap(section),
  ])
}

function section(operation: AnyOperation): string[] {
  const { access, http } = operation
  const rights = `Scope \`${access.scope}\`, role \`${access.role}\`${access.staff ? ", staff only" : ""}.${access.withoutOrganization ? " A signed-in person needs no organization." : ""}`
  const errors = operation.errors.length === 0 ? "" : ` Fails with ${operation.errors.map((code) => `\`${code}\``).join(", ")}.`
  return [
    `## ${operation.name}`,
    `\`${http.method} ${http.path}\``,
    [operation.summary, operation.description].filter(Boolean).join(" "),
    rights + errors + absence(operation),
    fieldTable(fieldsOf(operation.input)),
    ...(operation.examples ?? []).flatMap(example),
  ]
}

/** Returns the reason for a missing tool or command. */
function absence({ mcp, cli, streams }: AnyOperation): string {
  const tool =
    mcp && "absent" in mcp ? ` It has no MCP tool: ${sentence(mcp.absent)}` : streams ? " It has no MCP tool: it streams its answer." : ""
  const command = cli && "absent" in cli ? ` It has no command: ${sentence(cli.absent)}` : ""
  return tool + command
}

function sentence(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function example({ title = "Example", given = {}, input }: OperationExample): string[] {
  const before = Object.entries(given).map(([name, call]) => `\`${name}\` by ${calledBy(call)}`)
  const after = before.length === 0 ? "" : `, where ${before.join(" and ")} was called before`
  const shown = fulfilled(input, (path) => `<${path}>`)
  return [`${title}${after}:`, fenced("json", JSON.stringify(shown, null, 2))]
}

function calledBy(call: GivenCall): string {
  return `\`${typeof call === "string" ? call : call.operation}\``
}

/** Returns the anchor of a heading, as on GitHub. */
function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9_-]/g, "")
}
