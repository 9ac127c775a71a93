// Stored data of live updates: messages for returning clients, and the state for recovering unsent messages of a dead node.
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
  /** The process that commits and emits the message. */
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

/** A process with messages to emit. All messages up to `emitted_through` were emitted. */
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

/** Marks a process with staged messages of an organization. Written once for both, with the first message. */
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

/** A message as clients receive it. */
export interface WireMessage {
  readonly id: string
  readonly channel: string
  readonly event: string
  readonly data: Json
  readonly at: string
  /** Set if another node emits the message, possibly again. The committing node has committed no message since this time. */
  readonly silent_since?: string
  /** Set for a missed message to a single subscription: the subscription's filter. */
  readonly missed_by?: ChannelFilter
}

export function wireMessage({ id, channel, event, data, at }: LiveMessageDocument, silent_since?: string | undefined): WireMessage {
  const message = { id, channel, event, data, at }
  return silent_since === undefined ? message : { ...message, silent_since }
}

/** The stored room name of messages, within their organization. */
export function roomOf(channel: string, publicEndpoint: string | undefined): string {
  return publicEndpoint === undefined ? `c:${channel}` : `p:${publicEndpoint}:${channel}`
}

/** The socket.io room. Organization channels include the organization, so rooms never mix organizations. */
export function socketRoom(organization: string, channel: string, publicEndpoint: string | undefined): string {
  return publicEndpoint === undefined ? `org:${organization}:${channel}` : `public:${publicEndpoint}:${channel}`
}

/** The socket.io room of subscribers with this filter. */
export function filterRoom(room: string, filter: ChannelFilter): string {
  const names = Object.keys(filter).sort()
  return names.reduce((name, field) => withField(name, field, filter[field]), room)
}

/** Rooms for a message: the room itself, and the room of every matching filter on these fields. */
export function filterRooms(room: string, fields: readonly string[], data: Json): string[] {
  if (!isRecord(data)) return [room]
  return fields.toSorted().reduce((rooms, field) => rooms.flatMap((one) => [one, withField(one, field, data[field])]), [room])
}

/** Filtered subscribers also join this room. Without filters, messages skip the lookup by field. */
export function anyFilterRoom(room: string): string {
  return `${room}?`
}

function withField(room: string, field: string, value: unknown): string {
  return `${room}?${field}=${JSON.stringify(value)}`
}

export function expiry(now: number, keepMs: number): string {
  return timestamp(now + keepMs)
}
