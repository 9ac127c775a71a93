// Missed messages of a client. Ids follow the order of staging, and another node may commit a lower id later. Reading therefore
// starts 10 s before the requested id. The client drops duplicates.
import { type Channel, type ChannelFilter, passes } from "../../contract/channel.ts"
import type { Store } from "../../contract/store.ts"
import { timestamp } from "../../kernel/clock.ts"
import { idAt, timeOfId } from "../../kernel/ids.ts"
import { LiveMessages, roomOf, type WireMessage, wireMessage } from "./messages.ts"

const overlapMs = 10_000

/** Returns the lowest time of a clock set back across `at`. Undefined if no clock was set back across `at`. */
export type SetBackTo = (at: number) => Promise<number | undefined>

export interface Backlog {
  /** Oldest first. */
  readonly messages: readonly WireMessage[]
  /** True if some missed messages may no longer be stored. */
  readonly truncated: boolean
}

export interface MissedArgs {
  readonly store: Store
  readonly organization: string
  readonly channel: string
  /** Endpoint of a viewer. */
  readonly endpoint: string | undefined
  /** Declaration of the channel. Undefined for channels of pipelines. */
  readonly declared: Channel | undefined
  readonly filter: ChannelFilter
  readonly after: string
  readonly now: number
  readonly setBackTo: SetBackTo
  readonly keepMs: number
  readonly keepMessages: number
}

export async function missedSince(args: MissedArgs): Promise<Backlog> {
  const { after, declared, now, keepMs, keepMessages } = args
  const since = timeOfId(after)
  if (keepMessages === 0) return { messages: [], truncated: true }
  // Newer messages have lower ids if the clock was set back in between.
  const setBack = (await args.setBackTo(since)) ?? (since > now + overlapMs ? now - keepMs : undefined)
  const from = Math.min(since, setBack ?? since) - overlapMs
  const found = await (declared?.history ? pastMessages(args, from) : kept(args, from))
  const isWhole = setBack === undefined && since >= now - keepMs && found.length < keepMessages
  const truncated = !isWhole || declared?.durable === false
  const wanted = found.filter(({ id, data }) => id !== after && passes(args.filter, data))
  return { messages: wanted.map((message) => ({ ...message, missed_by: args.filter })).reverse(), truncated }
}

/** Newest first. */
async function kept({ store, organization, channel, endpoint, now, keepMessages }: MissedArgs, since: number): Promise<WireMessage[]> {
  const filter = { room: roomOf(channel, endpoint), id: { $gte: idAt(since) }, expires_at: { $gt: timestamp(now) } }
  const found = await store.open(LiveMessages, organization).find(filter, { sort: { id: -1 }, limit: keepMessages })
  return found.map((message) => wireMessage(message))
}

/** Newest first. */
async function pastMessages(
  { store, organization, channel, declared, filter, now, keepMs, keepMessages }: MissedArgs,
  since: number,
): Promise<WireMessage[]> {
  const found = await declared?.history?.({ store, organization, since: Math.max(since, now - keepMs), limit: keepMessages, filter })
  return (found ?? []).map((message) => ({ ...message, channel }))
}
