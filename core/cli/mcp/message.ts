// JSON-RPC messages of a line, with the fields needed by a relay.
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

/** Returns undefined for a line without a message. */
export function messagesOf(line: string): Message | undefined {
  const value = parsedJson(line)
  const all: unknown[] = Array.isArray(value) ? value : [value]
  return all.length > 0 && all.every(isMessage) ? (value as Message) : undefined
}

function isMessage(value: unknown): value is OneMessage {
  return typeof value === "object" && value !== null && (value as { jsonrpc?: unknown }).jsonrpc === "2.0"
}

/** Returns the ids of requests. */
export function requestIdsOf(message: Message): (string | number)[] {
  return [message].flat().flatMap(({ id, method }) => (id !== undefined && method !== undefined ? [id] : []))
}

/** Returns the responses for the ids. An error without an id refuses the whole message, so each request receives a copy. */
export function answersTo(ids: readonly (string | number)[], answer: Message): readonly unknown[] {
  const { id = null, error } = answer as { id?: unknown; error?: unknown }
  return error !== undefined && id === null && ids.length > 0 ? ids.map((id) => ({ ...answer, id })) : [answer]
}

const versionKey = "io.modelcontextprotocol/protocolVersion"
/** The name field of a request: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports */
const nameField: Readonly<Record<string, string>> = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" }

/** Returns headers with a copy of message fields. `negotiated`: the protocol revision agreed by `initialize`. */
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

/** Encodes text as base64 if a header cannot contain it. */
function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")
  return plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`
}
