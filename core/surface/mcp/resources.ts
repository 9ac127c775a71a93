// Reads as MCP resources, as their operations declare them. Every read goes through the call of the same operation, so
// that walls and roles hold; a list that the caller may not read simply has nothing to show here.
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

/** Calls an operation as the caller at hand. Throws AppError. */
export type CallOperation = (operation: AnyOperation, input: Record<string, unknown>) => Promise<Json>

export interface Readable {
  readonly operation: AnyOperation
  readonly spec: ResourceSpec
  readonly pattern: UriPattern
}

const mimeType = "application/json"
/** As many as the protocol lets an answer hold. */
const maxCompletions = 100
/** Each page is a call of its own, counted against the caller's limits: one completion reads no more than 10,000 items. */
const completionPages = { limit: 200, most: 50 }

/** The resources of all operations. */
export function readablesOf(operations: readonly AnyOperation[]): Readable[] {
  return operations.flatMap((operation) => {
    const { resource: spec } = operation
    return spec ? [{ operation, spec, pattern: uriPattern(spec.uri) }] : []
  })
}

/** Resources of one connection: those that its URL offers; lists show those that the caller may read. */
export class McpResources {
  readonly #readables: readonly Readable[]
  /** Those that the caller may call. */
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

  /** What has a fixed URI, then the items of each list, a page at a time. */
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

  /** Throws ResourceNotFoundError, or a protocol error that carries the code in its data. */
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

  /** What a variable of a template can be: the same field of the items that a list of resources shows. `hasMore` also where the list goes on beyond what is read. */
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

/** An error of the service as an error of the protocol. */
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

// URIs of resources: `millrace://event-pipelines/{slug}` as a pattern to read values out of, and to put them into.

interface UriPattern {
  readonly uri: string
  readonly variables: readonly string[]
  /** The variables' values, decoded; undefined for another resource's URI. */
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

/** The URI with each `{field}` filled in from the item; undefined when one of them has no text there. */
function filled(uri: string, item: Readonly<Record<string, unknown>>): string | undefined {
  let complete = true
  const text = uri.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = item[name]
    if (typeof value !== "string" || value === "") complete = false
    return encodeURIComponent(String(value))
  })
  return complete ? text : undefined
}
