// Live channels of conversations, one per kind. Live messages contain ids and states, but no message text.
import { type Deps, defineChannel, type Json, Live, type UnitOfWork } from "#core"
import type { Channel } from "./channels.ts"
import type { DeliveryState } from "./receipts.ts"

export const liveChannels = {
  chat_app: defineChannel({
    name: "chatapp_conversations",
    scope: "conversations:read",
    summary: "Conversations by chat app, their messages and opt-outs as they change: ids and states.",
  }),
  sms: defineChannel({
    name: "text_conversations",
    scope: "conversations:read",
    summary: "Conversations by text message, their messages and opt-outs as they change: ids and states.",
  }),
} as const

/** Changes, by the name of their live event. */
export interface Changes {
  conversation: { session_id: string; state: "open" | "idle" | "removed" }
  /** A sent message, or a message with newly fetched files. A received message changes its conversation. */
  message: { session_id: string; message_id: string; state: DeliveryState }
  opt_out: { opt_out_id: string }
  opt_in: { opt_out_id: string }
}

export interface Where {
  readonly organization: string
  readonly channel: Channel
}

export class Announcements {
  static readonly inject = { live: Live }
  readonly #live: Live

  constructor({ live }: Deps<typeof Announcements.inject>) {
    this.#live = live
  }

  /** Stages a live message. Subscribers receive the message after the commit. */
  stage<E extends keyof Changes>(work: UnitOfWork, { organization, channel }: Where, event: E, change: Changes[E]): void {
    const data: Json = { ...change }
    this.#live.stage(work, organization, { channel: liveChannels[channel].name, event, data })
  }
}
