// The live channels of conversations, one of each kind: ids and states as they change. What was said is read by who may.
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

/** What changed, by the name of its live event. */
export interface Changes {
  conversation: { session_id: string; state: "open" | "idle" | "removed" }
  /** A message that was sent, or whose files were fetched. One that came in changes its conversation. */
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

  /** Stages that subscribers are told once the work is committed. */
  stage<E extends keyof Changes>(work: UnitOfWork, { organization, channel }: Where, event: E, change: Changes[E]): void {
    const data: Json = { ...change }
    this.#live.stage(work, organization, { channel: liveChannels[channel].name, event, data })
  }
}
