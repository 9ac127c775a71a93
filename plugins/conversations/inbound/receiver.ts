// Takes a delivery in: its messages, what they say about opting out, and reports about messages that were sent. Nothing is
// written that a commit could refuse, and a delivery that is repeated changes nothing.
import { AppError, type Clock, type JobQueue, type Json, type Store, timestamp, token, type UnitOfWork } from "#core"
import { type Channel, collections, conversationId, messageId } from "../channels.ts"
import { foldedFrom } from "../fold/fold.ts"
import { foldJob, settleJob } from "../fold-jobs.ts"
import { mediaJob } from "../media/job-ref.ts"
import type { StoredMessage } from "../messages.ts"
import { type PhoneNumber, PhoneNumberCollection } from "../numbers/collections.ts"
import { keywordIn } from "../opt-out/keywords.ts"
import type { OptOuts } from "../opt-out/ledger.ts"
import { receiptId } from "../receipts.ts"
import type { Delivery, OwnNumber, ReceivedMessage, ReceivedStatus } from "../received.ts"
import { readMeta } from "./meta.ts"
import { readTwilio } from "./twilio.ts"

export const providers = { meta_whatsapp: readMeta, twilio: readTwilio } as const
export type Provider = keyof typeof providers

const receiptDays = 30
const dayMs = 86_400_000

export interface Received {
  messages: number
  statuses: number
  opt_outs: number
  opt_ins: number
  ignored: number
}

/** A webhook as it came in. */
export interface Arrived {
  readonly provider: Provider
  readonly payload: Json
  /** RFC 3339. */
  readonly at: string
  /** The message that a report is about, where the address that it was sent to names it. */
  readonly messageId?: string | null
}

interface Services {
  readonly store: Store
  readonly clock: Clock
  readonly queue: JobQueue
  readonly optOuts: OptOuts
}

export class Receiver {
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  /** Stages a delivery. Throws where the payload is not one of the provider's. */
  async stage(work: UnitOfWork, organization: string, from: Arrived): Promise<Received> {
    const delivery = providers[from.provider](from.payload, from.at)
    if (!delivery)
      throw new AppError("invalid_argument", `The event is not a webhook of ${from.provider}; leave it as it was sent.`, {
        reason: "not_a_delivery",
        retryable: false,
      })
    const entries = { opt_out: 0, opt_in: 0 }
    const touched = new Map<string, { number: string; address: string }>()
    const { channel } = delivery
    for (const received of delivery.messages) {
      const number = await this.#numberOf(organization, channel, received.own)
      const stored = this.#message(work, organization, channel, { received, number })
      touched.set(stored.conversation_id, { number, address: received.address })
      if (stored.media.length > 0)
        this.#services.queue.enqueue(work, mediaJob, { channel, message_id: stored.id }, { organization, id: `${stored.id}:media` })
      const kind = received.preference ?? keywordIn(received.text, channel)
      if (kind === undefined || kind === "none") continue
      const { address } = received
      const { optOuts } = this.#services
      const at = (await optOuts.saidAt(organization, channel, { kind, identity: stored.id })) ?? received.at
      const evidence = {
        source: received.preference ? "provider" : "keyword",
        message_id: stored.id,
        wording: received.text,
        recorded_by: null,
      } as const
      optOuts.stage(work, organization, channel, { address, kind, at, identity: stored.id, ...evidence })
      entries[kind]++
    }
    for (const [conversation_id, ends] of touched)
      this.#services.queue.enqueue(work, foldJob, { channel, conversation_id, ends }, { organization })
    for (const status of delivery.statuses) {
      this.#status(work, organization, channel, { ...status, message_id: status.message_id ?? from.messageId ?? null })
    }
    for (const { address, kind, at, wording } of delivery.preferences) {
      const evidence = { source: "provider", message_id: null, wording, recorded_by: null } as const
      this.#services.optOuts.stage(work, organization, channel, { address, kind, at, identity: `${address} ${at} ${wording}`, ...evidence })
      entries[kind]++
    }
    return counted(delivery, entries)
  }

  #message(
    work: UnitOfWork,
    organization: string,
    channel: Channel,
    { received, number }: { received: ReceivedMessage; number: string },
  ): StoredMessage {
    const { own: _own, address, media, preference: _preference, ...rest } = received
    const stored: StoredMessage = {
      ...rest,
      id: messageId(organization, channel, received.provider_id),
      conversation_id: conversationId(organization, channel, { number, address }),
      direction: "in",
      media: media.map((one) => ({ ...one, state: "pending", problem: "", size: 0, key: "" })),
      template: null,
      state: "received",
      error: null,
      changed_at: timestamp(this.#services.clock.now()),
    }
    const { messages, conversations } = collections[channel]
    work.in(messages, organization).insert(stored, { ifPresent: "keep" })
    work.in(conversations, organization).insert(foldedFrom(stored, { number, address }), { ifPresent: "keep" })
    return stored
  }

  #status(work: UnitOfWork, organization: string, channel: Channel, status: ReceivedStatus): void {
    const expires_at = timestamp(this.#services.clock.now() + receiptDays * dayMs)
    const receipt = { id: receiptId(organization, channel, status), ...status, expires_at }
    work.in(collections[channel].receipts, organization).insert(receipt, { ifPresent: "keep" })
    const { provider_id, message_id } = status
    this.#services.queue.enqueue(work, settleJob, { channel, provider_id, message_id }, { organization })
  }

  /** By the provider's id of a registered number, else as the provider names it. */
  async #numberOf(organization: string, channel: Channel, { number, phone_number_id }: OwnNumber): Promise<string> {
    if (channel === "sms" || phone_number_id === "") return number
    const found: PhoneNumber | undefined = await this.#services.store
      .open(PhoneNumberCollection, organization)
      .first({ "chat_app.phone_number_id": phone_number_id })
    return found?.number ?? number
  }
}

function counted({ messages, statuses, ignored }: Delivery, entries: { opt_out: number; opt_in: number }): Received {
  return { messages: messages.length, statuses: statuses.length, opt_outs: entries.opt_out, opt_ins: entries.opt_in, ignored }
}

export const ReceiverToken = token<Receiver>("Receiver")
