// What the journal shows of an event that ended before its body was read: as much as may be shown of what nobody vouches
// for, cut short and without what is named like a secret.
import type { InboundRequest } from "../../contract/auth-mode.ts"
import { parsedJson } from "../../kernel/json.ts"
import { previewOfText } from "../journal/preview.ts"
import { readBodyText } from "./body.ts"
import type { EventContext } from "./event.ts"
import { headersAndSize } from "./request.ts"

/** Longer bodies are told by headers and size alone. */
const maxParsedBytes = 65_536
const maxPreview = 500

/** "" for events without a request. */
export function previewOfUnread({ request, visible }: EventContext): string {
  if (visible.body !== "") return previewOfText(visible.body)
  if (!request) return ""
  const text = textOf(request)
  return text === undefined ? headersAndSize(request.headers, request.body.length) : previewOfText(text, maxPreview)
}

/** Whether the event is marked as a test, by its header or its body. */
export function saysTest({ isTest, visible, request }: EventContext): boolean {
  if (isTest) return true
  const text = visible.body === "" ? request && textOf(request) : visible.body
  if (!text?.includes('"is_test"')) return false
  return (parsedJson(text) as { is_test?: unknown } | null | undefined)?.is_test === true
}

/** As JSON text; undefined for what is too large, or is not text. */
function textOf({ body, headers }: InboundRequest): string | undefined {
  if (body.length === 0 || body.length > maxParsedBytes) return undefined
  const type = headers["content-type"]
  try {
    return readBodyText(body, typeof type === "string" ? type : type?.[0]).text
  } catch {
    return undefined
  }
}
