// Live updates. Messages are staged with a commit and sent over sockets once the commit is on disk. They are stored for a while,
// so a client can catch up after a lost connection.
import type { z } from "zod"
import { token } from "../kernel/di.ts"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { Role } from "./caller.ts"
import type { Json } from "./collection.ts"
import type { Store } from "./store.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** A channel of the service itself. Pipelines cannot broadcast to its name or below it. A trailing `:*` stands for one more part. */
export interface Channel {
  readonly name: string
  readonly summary: string
  /** The scope of the equivalent reads. A scoped token needs this scope in addition to `live:subscribe`. */
  readonly scope: `${string}:read`
  /** The least role for subscribing; default `member`. `guest` only suits messages without payload, row or preview. */
  readonly role?: Role
  /** False if messages may be emitted without being stored. A reconnecting client receives a notice about possible gaps. */
  readonly durable?: boolean
  /** Data fields that subscriptions may filter by, with the schema of each: text, number or boolean. */
  readonly filters?: Readonly<Record<string, z.ZodType<ChannelFilter[string]>>>
  /** Past messages of a non-durable channel, derived from stored documents, for reconnecting clients. */
  readonly history?: (args: HistoryArgs) => Promise<readonly PastMessage[]>
}

/** Required values in the data of messages, by field. */
export type ChannelFilter = Readonly<Record<string, string | number | boolean>>

/** Returns true if a subscription with this filter receives a message with this data. */
export function passes(filter: ChannelFilter, data: Json): boolean {
  const fields = data as Readonly<Record<string, Json>> | null
  return Object.entries(filter).every(([field, value]) => fields?.[field] === value)
}

/** Selects past messages of a channel. */
export interface HistoryArgs {
  readonly store: Store
  readonly organization: string
  /** Unix milliseconds, compared with the time in the id. */
  readonly since: number
  /** Maximum number of messages; the newest are returned. */
  readonly limit: number
  /** Other messages are dropped in any case. With the filter here, `limit` counts only matching messages. */
  readonly filter: ChannelFilter
}

/** An earlier message, with its original id. */
export interface PastMessage {
  readonly id: string
  readonly event: string
  readonly data: Json
  /** RFC 3339. */
  readonly at: string
}

export const Channels: DeclarationKind<Channel> = { kind: "channel", nameOf: (channel) => channel.name }

/** Names without their `:*`. */
const reserved = new Set<string>()

/** Declares a live channel of the service. Its name and all names below it are then reserved in this process. */
export function defineChannel(channel: Channel): Channel {
  reserved.add(channel.name.replace(/:\*$/, ""))
  return channel
}

/** Returns true if a declared name equals or covers this name. A trailing `:*` covers one more part. */
export function coversChannel(declared: string, name: string): boolean {
  if (!declared.endsWith(":*")) return declared === name
  const prefix = declared.slice(0, -1)
  return name.startsWith(prefix) && name.length > prefix.length && !name.slice(prefix.length).includes(":")
}

/** Returns true for names closed to pipelines: the service's channels and all names below them. */
export function isReservedChannel(name: string): boolean {
  return reserved.has(name.split(":")[0] ?? "")
}

/** Valid channel names: at most 100 letters, digits and `. _ - :`. The first and last character is a letter or digit. */
export const channelPattern = /^[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,98}[A-Za-z0-9])?$/

/** A message for the subscribers of a channel. */
export interface LiveMessage {
  readonly channel: string
  readonly event: string
  readonly data: Json
  /** Set for messages to anonymous viewers of an endpoint. They see only `public:<endpoint_id>:<channel>`. */
  readonly publicEndpoint?: string
}

/** Publishes live messages to sockets: with a commit, or at once if later readers do not need them. */
export interface Live {
  /** Stages a message. The commit stores and emits it. Returns its id. */
  stage(work: UnitOfWork, organization: string, message: LiveMessage, id?: string): string
  /**
   * Emits without storing. Suits progress, and messages that the channel's `history` returns under the same `id` (a UUID in time
   * order).
   */
  emit(organization: string, message: LiveMessage, id?: () => string): void
  /** Returns false if there are certainly no subscribers. The caller can then skip an emit-only message. */
  hasSubscribers(organization: string, message: Pick<LiveMessage, "channel" | "publicEndpoint">): boolean
}

export const Live = token<Live>("Live")

/** Verifies the tokens of page viewers. */
export interface ViewerTokens {
  /** Returns the token's organization, or the cause of its refusal. Never throws for the content of a token. */
  verify(token: string): Promise<{ readonly organization_id: string } | { readonly error: "expired" | "invalid" }>
}

/** Tokens of page viewers: short-lived and signed, for one organization. Live connections verify them. A plugin mints them. */
export const ViewerTokens = token<ViewerTokens>("ViewerTokens")
