// What live updates keep: the messages themselves for clients that come back, and what it takes to find the messages
// that a node committed and did not live to emit.
import { type Document, defineCollection, type Json } from "../../contract/collection.ts"
import { timestamp } from "../../kernel/clock.ts"

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

export function expiry(now: number, keepMs: number): string {
  return timestamp(now + keepMs)
}
