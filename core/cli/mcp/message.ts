// JSON-RPC messages as they stand on a line, as far as a relay has to look into them.
import { parsedJson } from "../../kernel/json.ts"
export interface OneMessage {
  readonly jsonrpc: "2.0"
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
}
/** A list in the revision of 2025-03-26. */
export type Message = OneMessage | readonly OneMessage[]

/** undefined for a line that holds none. */
export function messagesOf(line: string): Message | undefined {
  const value = parsedJson(line)
  const all: unknown[] = Array.isArray(value) ? value : [value]
  return all.length > 0 && all.every(isMessage) ? (value as Message) : undefined
}

function isMessage(value: unknown): value is OneMessage {
  return typeof value === "object" && value !== null && (value as { jsonrpc?: unknown }).jsonrpc === "2.0"
}

/** Ids that wait for an answer. */
export function requestIdsOf(message: Message): (string | number)[] {
  return [message].flat().flatMap(({ id, method }) => (id !== undefined && method !== undefined ? [id] : []))
}

/** What answers each of the ids: an error that names no request refuses the message as a whole, before its requests were read. */
export function answersTo(ids: readonly (string | number)[], answer: Message): readonly unknown[] {
  const { id = null, error } = answer as { id?: unknown; error?: unknown }
  return error !== undefined && id === null && ids.length > 0 ? ids.map((id) => ({ ...answer, id })) : [answer]
}

const versionKey = "io.modelcontextprotocol/protocolVersion"
/** Where a request names what it is about: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports */
const nameField: Readonly<Record<string, string>> = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" }

/** The headers that repeat what the message says. `negotiated` is the revision that an `initialize` agreed on. */
export function headersOf(message: Message, negotiated: string | undefined): Record<string, string> {
  const one = Array.isArray(message) ? undefined : (message as OneMessage)
  const own = (one?.params?.["_meta"] as Record<string, unknown> | undefined)?.[versionKey]
  if (typeof own !== "string" || one?.method === undefined) return negotiated === undefined ? {} : { "mcp-protocol-version": negotiated }
  const name = one.params?.[nameField[one.method] ?? ""]
  return {
    "mcp-protocol-version": own,
    "mcp-method": one.method,
    ...(typeof name === "string" ? { "mcp-name": headerValue(name) } : {}),
  }
}

/** Text that a header cannot hold goes as base64. */
function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")
  return plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`
}
