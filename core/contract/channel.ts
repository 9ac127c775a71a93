// Live updates: messages staged with a commit and delivered over sockets once it is on disk, kept for a while so that
// a client that lost its connection can catch up.
import type { z } from "zod"
import { token } from "../kernel/di.ts"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { Role } from "./caller.ts"
import type { Json } from "./collection.ts"
import type { Store } from "./store.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** A channel of the service itself: pipelines broadcast to none of its name or under it. A trailing `:*` takes one more part. */
export interface Channel {
  readonly name: string
  readonly summary: string
  /** The scope of the reads that the channel mirrors. A scoped token needs it beside `live:subscribe`. */
  readonly scope: `${string}:read`
  /** The least role that may subscribe. Default `member`; `guest` only where messages carry no payload, row or preview. */
  readonly role?: Role
  /** False where messages may be emitted without being stored: a client that reconnects is told that some may be missing. */
  readonly durable?: boolean
  /** Fields of its messages' data that subscriptions may filter by, with what each may be: text, a number, true or false. */
  readonly filters?: Readonly<Record<string, z.ZodType<ChannelFilter[string]>>>
  /** Past messages of a channel that is not durable, derived from stored documents, for clients that reconnect. */
  readonly history?: (args: HistoryArgs) => Promise<readonly PastMessage[]>
}

/** What the data of messages must hold, field by field. */
export type ChannelFilter = Readonly<Record<string, string | number | boolean>>

/** Whether a subscription by this filter is for a message with this data. */
export function passes(filter: ChannelFilter, data: Json): boolean {
  const fields = data as Readonly<Record<string, Json>> | null
  return Object.entries(filter).every(([field, value]) => fields?.[field] === value)
}

/** Which past messages of a channel are wanted. */
export interface HistoryArgs {
  readonly store: Store
  readonly organization: string
  /** Unix milliseconds; by the time in the id. */
  readonly since: number
  /** How many; the newest of them. */
  readonly limit: number
  /** Others are left out in any case; here, so that `limit` counts those that are wanted. */
  readonly filter: ChannelFilter
}

/** A message that was emitted before, with the same id. */
export interface PastMessage {
  readonly id: string
  readonly event: string
  readonly data: Json
  /** RFC 3339. */
  readonly at: string
}

export const Channels: DeclarationKind<Channel> = { kind: "channel", nameOf: (channel) => channel.name }

/** Names before their `:*`. */
const reserved = new Set<string>()

/** Declares a live channel of the service's own. From then on its name, and all under it, is reserved in this process. */
export function defineChannel(channel: Channel): Channel {
  reserved.add(channel.name.replace(/:\*$/, ""))
  return channel
}

/** Whether a declared name (with `:*` for one more part) is or covers this one. */
export function coversChannel(declared: string, name: string): boolean {
  if (!declared.endsWith(":*")) return declared === name
  const prefix = declared.slice(0, -1)
  return name.startsWith(prefix) && name.length > prefix.length && !name.slice(prefix.length).includes(":")
}

/** True for names that pipelines may not broadcast to: the service's own, and anything under them. */
export function isReservedChannel(name: string): boolean {
  return reserved.has(name.split(":")[0] ?? "")
}

/** What a channel may be called: letters, digits and `. _ - :` between them, at most 100. */
export const channelPattern = /^[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,98}[A-Za-z0-9])?$/

/** A message for the subscribers of a channel. */
export interface LiveMessage {
  readonly channel: string
  readonly event: string
  readonly data: Json
  /** Set for messages to anonymous viewers of one endpoint: they see `public:<endpoint_id>:<channel>` only. */
  readonly publicEndpoint?: string
}

/** Publishes live messages to sockets: staged with a commit, or at once where nobody need read them later. */
export interface Live {
  /** Stages a message; it is kept and emitted with the commit. Returns its id. */
  stage(work: UnitOfWork, organization: string, message: LiveMessage, id?: string): string
  /** Emits without storing: progress, or what the channel's `history` returns under the same `id`, a UUID in time order. */
  emit(organization: string, message: LiveMessage, id?: () => string): void
  /** False when there are certainly no subscribers, so that a message that is only emitted need not be made. */
  hasSubscribers(organization: string, message: Pick<LiveMessage, "channel" | "publicEndpoint">): boolean
}

export const Live = token<Live>("Live")

/** Verifies the tokens of page viewers. */
export interface ViewerTokens {
  /** The organization that the token was made for, or why it does not count. Never throws for what a token holds. */
  verify(token: string): Promise<{ readonly organization_id: string } | { readonly error: "expired" | "invalid" }>
}

/**
 * Tokens of page viewers: short-lived, signed, for one organization. Live connections ask about them; who mints them is a
 * plugin's business.
 */
export const ViewerTokens = token<ViewerTokens>("ViewerTokens")
