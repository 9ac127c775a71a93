// Live updates: messages staged with a commit and delivered over sockets once it is on disk, kept for a while so that
// a client that lost its connection can catch up.
import { token } from "../kernel/di.ts"
import type { ExtensionPoint } from "../kernel/registry.ts"
import type { Json } from "./collection.ts"
import type { Work } from "./work.ts"

/** A channel name of the service itself; others may not be broadcast to by pipelines under it. A trailing `:*` takes one more part. */
export interface Channel {
  readonly name: string
  readonly summary: string
}

export const Channels: ExtensionPoint<Channel> = { kind: "channel", nameOf: (channel) => channel.name }

export function defineChannel(channel: Channel): Channel {
  return channel
}

export interface LiveMessage {
  readonly channel: string
  readonly event: string
  readonly data: Json
  /** Set for messages to anonymous viewers of one endpoint: they see `public:<endpoint_id>:<channel>` only. */
  readonly publicEndpoint?: string
}

export interface Live {
  /** Stages a message; it is kept and emitted with the commit. Returns its id. */
  stage(work: Work, organization: string, message: LiveMessage, id?: string): string
  /** Emits without keeping, for what is told better late than twice (progress). */
  emit(organization: string, message: LiveMessage): void
}

export const Live = token<Live>("Live")
