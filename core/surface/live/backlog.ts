// What a client missed. Ids are in order of staging, not of commit: another node's lower id may commit later. So reading
// starts 10 s before the id given, and the client drops what it has seen.
import type { Collection } from "../../contract/store.ts"
import { timestamp } from "../../kernel/clock.ts"
import { idAt, type LiveMessageDocument, timeOfId } from "./messages.ts"

export const overlapMs = 10_000

export interface Backlog {
  /** Oldest first. */
  readonly messages: LiveMessageDocument[]
  /** More was missed than is kept. */
  readonly truncated: boolean
}

export async function missedSince(args: {
  messages: Collection<LiveMessageDocument>
  room: string
  after: string
  now: number
  keepMs: number
  keepMessages: number
}): Promise<Backlog> {
  const { messages, room, after, now, keepMs, keepMessages } = args
  const since = timeOfId(after)
  if (keepMessages === 0) return { messages: [], truncated: true }
  const filter = { room, id: { $gte: idAt(since - overlapMs) }, expires_at: { $gt: timestamp(now) } }
  const found = await messages.find(filter, { sort: { id: -1 }, limit: keepMessages })
  const truncated = since < now - keepMs || found.length === keepMessages
  return { messages: found.filter(({ id }) => id !== after).reverse(), truncated }
}
