// What live updates keep: the messages themselves for clients that come back, and what it takes to find the messages
// that a node committed and did not live to emit.
import type { ChannelFilter } from "../../contract/channel.ts"
import { type Document, defineCollection, type Json } from "../../contract/collection.ts"
import { timestamp } from "../../kernel/clock.ts"
import { isRecord } from "../../kernel/json.ts"

export interface LiveMessageDocument extends Document {
  /** `c:<channel>`, or `p:<endpoint_id>:<channel>` for anonymous viewers. */
  room: string
  channel: string
  event: string
  data: Json
  at: string
  /** The process that committed it and emits it. */
  node: string
  expires_at: string
}

export const LiveMessages = defineCollection<LiveMessageDocument>()({
  name: "live_messages",
  scope: "organization",
  times: ["at", "expires_at"],
  indexes: [{ fields: ["room", "id"] }],
  expires: "expires_at",
  audit: "none",
})

/** A process that has messages to emit, and up to when it has emitted all of them. */
export interface LiveNodeDocument extends Document {
  beat_at: string
  emitted_through: string
}

export const LiveNodes = defineCollection<LiveNodeDocument>()({
  name: "live_nodes",
  scope: "global",
  times: ["beat_at", "emitted_through"],
  indexes: [],
})

/** That a process has staged messages of an organization; written once for both, with the first message. */
export interface LiveOutboxDocument extends Document {
  node: string
  organization: string
  created_at: string
}

export const LiveOutboxes = defineCollection<LiveOutboxDocument>()({
  name: "live_outboxes",
  scope: "global",
  times: ["created_at"],
  indexes: [{ fields: ["node"] }],
})

/** A message as clients get it. */
export interface WireMessage {
  readonly id: string
  readonly channel: string
  readonly event: string
  readonly data: Json
  readonly at: string
  /** Set where another node emits it, perhaps once more: the node that committed it has committed nothing since. */
  readonly silent_since?: string
  /** Set where it was missed and is sent to one subscription alone: the filter of that one. */
  readonly missed_by?: ChannelFilter
}

export function wireMessage({ id, channel, event, data, at }: LiveMessageDocument, silent_since?: string | undefined): WireMessage {
  const message = { id, channel, event, data, at }
  return silent_since === undefined ? message : { ...message, silent_since }
}

/** How messages of a room are filed within their organization. */
export function roomOf(channel: string, publicEndpoint: string | undefined): string {
  return publicEndpoint === undefined ? `c:${channel}` : `p:${publicEndpoint}:${channel}`
}

/** The socket.io room: organization channels carry the organization, so that no two share one. */
export function socketRoom(organization: string, channel: string, publicEndpoint: string | undefined): string {
  return publicEndpoint === undefined ? `org:${organization}:${channel}` : `public:${publicEndpoint}:${channel}`
}

/** The socket.io room of those who subscribe to a room by a filter. */
export function filterRoom(room: string, filter: ChannelFilter): string {
  const names = Object.keys(filter).sort()
  return names.reduce((name, field) => withField(name, field, filter[field]), room)
}

/** Whom a message of a room is for: the room itself, and that of every filter by some of these fields that lets it through. */
export function filterRooms(room: string, fields: readonly string[], data: Json): string[] {
  if (!isRecord(data)) return [room]
  return fields.toSorted().reduce((rooms, field) => rooms.flatMap((one) => [one, withField(one, field, data[field])]), [room])
}

/** Joined beside the room of any filter, so that nothing is looked up by its fields where nobody filters. */
export function anyFilterRoom(room: string): string {
  return `${room}?`
}

function withField(room: string, field: string, value: unknown): string {
  return `${room}?${field}=${JSON.stringify(value)}`
}

export function expiry(now: number, keepMs: number): string {
  return timestamp(now + keepMs)
}
