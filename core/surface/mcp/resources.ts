// Declared reads of operations as MCP resources. Every read runs as a call of the same operation, with its access checks and
// roles. Lists hidden from the caller are empty here.
import {
  type CompleteResult,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server"
import type { Json } from "../../contract/collection.ts"
import type { AnyOperation, ResourceSpec } from "../../contract/operation.ts"
import { AppError } from "../../kernel/errors.ts"
import type { ToolView } from "./catalog.ts"
import { fitted } from "./result.ts"
import { toolName } from "./tools.ts"

/** Calls an operation as the current caller. Throws AppError. */
export type CallOperation = (operation: AnyOperation, input: Record<string, unknown>) => Promise<Json>

export interface Readable {
  readonly operation: AnyOperation
  readonly spec: ResourceSpec
  readonly pattern: UriPattern
}

const mimeType = "application/json"
/** Maximum of the protocol for one response. */
const maxCompletions = 100
/** Each page is a separate call and counts against the caller's limits. A completion reads at most 10,000 items. */
const completionPages = { limit: 200, most: 50 }

/** The resources of all operations. */
export function readablesOf(operations: readonly AnyOperation[]): Readable[] {
  return operations.flatMap((operation) => {
    const { resource: spec } = operation
    return spec ? [{ operation, spec, pattern: uriPattern(spec.uri) }] : []
  })
}

/** Resources of one connection: the reads offered by its URL. Lists contain only reads allowed for the caller. */
export class McpResources {
  readonly #readables: readonly Readable[]
  /** Reads allowed for the caller. */
  readonly #shown: readonly Readable[]
  readonly #lists: readonly Readable[]

  constructor(readables: readonly Readable[], view: ToolView) {
    this.#readables = readables.filter(({ operation }) => view.find(operation.name))
    this.#shown = this.#readables.filter(({ operation }) => view.tools.has(toolName(operation)))
    this.#lists = this.#shown.filter(({ spec }) => spec.items)
  }

  templates(): ResourceTemplateType[] {
    return this.#shown
      .filter(({ pattern }) => pattern.variables.length > 0)
      .map(({ operation, spec }) => ({ uriTemplate: spec.uri, ...described(operation) }))
  }

  /** Returns the resources with fixed URIs, then the items of each list in pages. */
  async list(call: CallOperation, cursor: string | undefined): Promise<{ resources: Resource[]; nextCursor?: string }> {
    const fixed = this.#shown
      .filter(({ pattern }) => pattern.variables.length === 0)
      .map(({ operation, spec }) => ({ uri: spec.uri, ...described(operation) }))
    const at = cursor === undefined ? { list: 0, page: "" } : openCursor(cursor, this.#lists.length)
    const current = this.#lists[at.list]
    if (!current) return { resources: fixed }
    const { resources, next } = await this.#items(call, current, at.page)
    const following = next === "" ? { list: at.list + 1, page: "" } : { list: at.list, page: next }
    return {
      resources: cursor === undefined ? [...fixed, ...resources] : resources,
      ...(following.list < this.#lists.length ? { nextCursor: sealCursor(following) } : {}),
    }
  }

  /** Throws ResourceNotFoundError, or a protocol error with the code in its data. */
  async read(call: CallOperation, uri: string): Promise<{ contents: { uri: string; mimeType: string; text: string }[] }> {
    for (const { operation, pattern } of this.#readables) {
      const variables = pattern.match(uri)
      if (!variables) continue
      try {
        const body = await call(operation, variables)
        return { contents: [{ uri, mimeType, text: fitted({ text: JSON.stringify(body), body }).text }] }
      } catch (error) {
        throw protocolError(error, uri)
      }
    }
    throw new ResourceNotFoundError(uri, `The resource ${uri} does not exist; resources/list and resources/templates/list list them.`)
  }

  /**
   * Completes a template variable with the field of listed items. `hasMore` is also true if the list continues beyond the read
   * pages.
   */
  async complete(call: CallOperation, template: string, variable: string, begun: string): Promise<CompleteResult["completion"]> {
    const list = this.#lists.find(({ spec: { items } }) => items && template.startsWith(items.uri) && items.uri.includes(`{${variable}}`))
    if (!list) return { values: [], total: 0, hasMore: false }
    const values: string[] = []
    let cursor = ""
    for (let pages = 0; pages < completionPages.most; pages++) {
      const { items, next } = await this.#page(call, list, cursor, completionPages.limit)
      const found = items.map((item) => item[variable]).filter((value) => typeof value === "string")
      values.push(...found.filter((value) => value.startsWith(begun)))
      cursor = next
      if (cursor === "" || values.length > maxCompletions) break
    }
    const hasMore = cursor !== "" || values.length > maxCompletions
    return { values: values.slice(0, maxCompletions), hasMore, ...(hasMore ? {} : { total: values.length }) }
  }

  async #items(call: CallOperation, list: Readable, cursor: string): Promise<{ resources: Resource[]; next: string }> {
    const { items: spec } = list.spec
    if (!spec) return { resources: [], next: "" }
    const { items, next } = await this.#page(call, list, cursor)
    const resources = items.flatMap((item) => {
      const uri = filled(spec.uri, item)
      const title = item[spec.title]
      return uri === undefined
        ? []
        : [{ uri, name: uri.slice(uri.lastIndexOf("/") + 1), mimeType, ...(typeof title === "string" ? { title } : {}) }]
    })
    return { resources, next }
  }

  async #page(
    call: CallOperation,
    { operation, spec }: Readable,
    cursor: string,
    limit?: number,
  ): Promise<{ items: Record<string, Json>[]; next: string }> {
    try {
      const answer = await call(operation, { ...(cursor === "" ? {} : { cursor }), ...(limit === undefined ? {} : { limit }) })
      const page = answer as Record<string, Json>
      const next = page["next_cursor"]
      return { items: page[spec.items?.field ?? ""] as Record<string, Json>[], next: typeof next === "string" ? next : "" }
    } catch (error) {
      if (error instanceof AppError && error.code === "permission_denied") return { items: [], next: "" }
      throw protocolError(error, spec.uri)
    }
  }
}

function described(operation: AnyOperation) {
  return {
    name: operation.name,
    title: operation.summary.replace(/\.$/, ""),
    description: operation.description ?? operation.summary,
    mimeType,
  }
}

/** Converts an error of the service to an error of the protocol. */
export function protocolError(error: unknown, uri?: string): Error {
  if (!(error instanceof AppError)) return error as Error
  if (error.code === "not_found" && uri !== undefined) return new ResourceNotFoundError(uri, error.message)
  const code = error.status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
  return new ProtocolError(code, error.message, error.toBody())
}

interface ListCursor {
  readonly list: number
  readonly page: string
}

function sealCursor({ list, page }: ListCursor): string {
  return `${list}.${page}`
}

function openCursor(cursor: string, lists: number): ListCursor {
  const [, list = "", page = ""] = /^(\d{1,4})\.(.*)$/s.exec(cursor) ?? []
  if (list === "" || Number(list) >= lists) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "This cursor was not made by resources/list; start again without one.")
  }
  return { list: Number(list), page }
}

// URIs of resources: `millrace://event-pipelines/{slug}` as a pattern for reading and filling in values.

interface UriPattern {
  readonly uri: string
  readonly variables: readonly string[]
  /** Returns the decoded variables. Undefined for the URI of another resource. */
  match(uri: string): Record<string, string> | undefined
}

function uriPattern(uri: string): UriPattern {
  const variables = [...uri.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "")
  const source = uri
    .split(/\{\w+\}/)
    .map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"))
    .join("([^/?#]+)")
  const pattern = new RegExp(`^${source}$`)
  return {
    uri,
    variables,
    match(given) {
      const found = pattern.exec(given)
      if (!found) return undefined
      try {
        return Object.fromEntries(variables.map((name, index) => [name, decodeURIComponent(found[index + 1] ?? "")]))
      } catch {
        return undefined
      }
    },
  }
}

/** Fills each `{field}` of the URI from the item. Returns undefined if a field is missing or not text. */
function filled(uri: string, item: Readonly<Record<string, unknown>>): string | undefined {
  let complete = true
  const text = uri.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = item[name]
    if (typeof value !== "string" || value === "") complete = false
    return encodeURIComponent(String(value))
  })
  return complete ? text : undefined
}
