// A page of a list that is too long for a result is read again with fewer items, so that its cursor continues where the
// result ends.
import type { AnyOperation } from "../../contract/operation.ts"
import { isRecord } from "../../kernel/json.ts"
import { type JsonObject, wireSchema } from "../wire-schema.ts"
import { type Answer, maxResultChars } from "./result.ts"

/** The input for a shorter page. Returns undefined if the answer fits or is not a page. */
export function shorterPage(operation: AnyOperation, input: unknown, { text, body }: Answer): JsonObject | undefined {
  if (text.length <= maxResultChars || !operation.hints.readOnly || !isRecord(body) || typeof body["next_cursor"] !== "string")
    return undefined
  const fields = wireSchema(operation.input, "input")["properties"]
  if (!isRecord(fields) || !("limit" in fields)) return undefined
  const items = Math.max(0, ...Object.values(body).map((value) => (Array.isArray(value) ? value.length : 0)))
  if (items < 2) return undefined
  const limit = Math.max(1, Math.floor((items * maxResultChars * 0.8) / text.length))
  return { ...(isRecord(input) ? input : {}), limit }
}
