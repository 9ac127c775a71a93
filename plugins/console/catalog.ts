// The declared operations for the console, without fields only for programs.
import { token } from "#core"
import { type Declarations, Operations, wireSchema } from "#core/engine"

export interface Catalog {
  /** JSON of CatalogOperation[], built on the first call. */
  text(): string
}

/** An operation, as the app reads it. */
export interface CatalogOperation {
  readonly name: string
  readonly summary: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly path: string
  readonly role: string
  readonly scope: string
  readonly withoutOrganization: boolean
  readonly readOnly: boolean
  readonly destructive: boolean
  readonly repeatable: boolean
  readonly streams: boolean
  /** Fields shown first in a list. */
  readonly columns: readonly string[]
  /** JSON Schema. */
  readonly input: object
  /** Names of the response fields, with their types. */
  readonly output: Readonly<Record<string, string>>
}

export const Catalog = token<Catalog>("console catalog")

export function createCatalog(declarations: Declarations): Catalog {
  let text: string | undefined
  return { text: () => (text ??= JSON.stringify(operationsOf(declarations))) }
}

function operationsOf(declarations: Declarations): CatalogOperation[] {
  const operations = declarations.items(Operations).filter(({ access }) => !access.staff)
  return operations.map(({ name, summary, http, access, hints, streams, columns = [], input, output }) => {
    const answer = streams ? {} : ((wireSchema(output, "output")["properties"] ?? {}) as Record<string, { type?: unknown }>)
    return {
      name,
      summary,
      method: http.method,
      path: http.path,
      role: access.role,
      scope: access.scope,
      withoutOrganization: access.withoutOrganization === true,
      readOnly: hints.readOnly,
      destructive: hints.destructive,
      repeatable: hints.readOnly || hints.idempotent,
      streams: streams !== undefined,
      columns,
      input: wireSchema(input, "input"),
      output: Object.fromEntries(Object.entries(answer).map(([field, { type }]) => [field, typeof type === "string" ? type : ""])),
    }
  })
}
