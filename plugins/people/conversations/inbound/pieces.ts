// Splits a large Meta webhook into smaller webhooks of a bounded size. WhatsApp's history has thousands of messages per request.
// A unit of work of this size would block the main thread.
import { isRecord, type Json } from "#core"
import { type Fields, fieldsOf, listOf, textOf } from "../received.ts"

/** Limit of messages, statuses and preferences in one unit of work. */
export const maxParts = 50

const listNames = ["messages", "message_echoes", "statuses", "user_preferences", "user_id_update"] as const

interface Part {
  readonly field: string
  readonly value: Fields
  readonly list: (typeof listNames)[number] | "history"
  readonly item: Fields
  /** Set for the history. */
  readonly thread?: Fields
}

/** Returns the pieces in order, or the payload itself if it fits in one unit of work. */
export function piecesOf(payload: Json): readonly Json[] {
  const { object, entry } = fieldsOf(payload)
  if (!Array.isArray(entry)) return [payload]
  const parts = entry.flatMap((one) => listOf(fieldsOf(one)["changes"]).flatMap(partsOf))
  if (parts.length <= maxParts) return [payload]
  const pieces: Json[] = []
  for (let from = 0; from < parts.length; from += maxParts)
    pieces.push({ object: object ?? null, entry: [{ changes: parts.slice(from, from + maxParts).map(changeOf) }] })
  return pieces
}

/** Counts the parts of several pieces. */
export function countParts(pieces: readonly Json[]): number {
  return pieces.reduce<number>((sum, piece) => sum + listOf(fieldsOf(listOf(fieldsOf(piece)["entry"])[0] as Json)["changes"]).length, 0)
}

function partsOf(change: Fields): Part[] {
  const [field, value] = [textOf(change["field"], 100), fieldsOf(change["value"])]
  const listed = listNames.flatMap((list) => listOf(value[list]).map((item) => ({ field, value, list, item })))
  const past = listOf(value["history"]).flatMap((part) =>
    listOf(part["threads"]).flatMap((thread) =>
      listOf(thread["messages"]).map((item) => ({ field, value, list: "history" as const, item, thread })),
    ),
  )
  return [...listed, ...past]
}

function changeOf({ field, value, list, item, thread }: Part): Json {
  const { metadata = null } = value
  const contacts = contactsOf(value, item)
  const parts = thread ? [{ threads: [{ id: thread["id"] ?? null, messages: [item] }] }] : [item]
  return { field, value: { metadata, ...(contacts.length > 0 && { contacts }), [list]: parts } as Json }
}

const indexes = new WeakMap<Fields, ReadonlyMap<string, Fields>>()

/** Finds the contact of a message's sender through an index. */
function contactsOf(value: Fields, item: Fields): Json[] {
  let index = indexes.get(value)
  if (!index) {
    const contacts = listOf(value["contacts"])
    index = new Map(contacts.flatMap((one) => [one["wa_id"], one["user_id"]].map((id) => [textOf(id, 140), one] as const)))
    indexes.set(value, index)
  }
  const found = [item["from"], item["from_user_id"]].map((id) => index.get(textOf(id, 140) || "-")).find(isRecord)
  return found ? [found as Json] : []
}
