// Accepts a message for sending: checks the gate, stores the message and enqueues the job.
import { Clock, type Deps, JobQueue, Store, timestamp, type UnitOfWork } from "#core"
import { type Channel, collections, conversationId, foldJob, sendJob } from "../channels.ts"
import { foldedFrom } from "../fold/fold.ts"
import type { StoredMessage, Template } from "../messages.ts"
import { PhoneNumbers } from "../numbers/phone-number.ts"
import { EgressGate } from "./gate.ts"

export interface NewMessage {
  /** Id of the message. A repeated call has the same id. */
  readonly id: string
  readonly channel: Channel
  readonly from: string
  readonly to: string
  readonly text: string
  readonly template: Template | null
}

export interface Accepted {
  readonly message: StoredMessage
  /** Milliseconds since the epoch. */
  readonly sendAt: number
}

export class Outbox {
  static readonly inject = { store: Store, clock: Clock, queue: JobQueue, gate: EgressGate, numbers: PhoneNumbers }
  readonly #services: Deps<typeof Outbox.inject>

  constructor(services: Deps<typeof Outbox.inject>) {
    this.#services = services
  }

  /** Stages a message. Throws if the gate refuses the message. */
  async accept(work: UnitOfWork, organization: string, { id, channel, from, to, text, template }: NewMessage): Promise<Accepted> {
    const { clock, queue, gate, numbers } = this.#services
    const number = await numbers.require(organization, from)
    const sendAt = await gate.pass(organization, { channel, number, address: to, template })
    const at = timestamp(clock.now())
    const conversation_id = conversationId(organization, channel, { number: from, address: to })
    const message: StoredMessage = {
      ...{
        id,
        conversation_id,
        direction: "out",
        at,
        sent_at: null,
        arrival: `${at} ${id}`,
        provider_id: null,
        kind: template ? "template" : "text",
        text,
        profile_name: "",
      },
      ...{ location: null, context: null, referral: null, reaction: null, content: null, media: [] },
      ...{ template, state: "queued", error: null, changed_at: at },
    }
    work.in(collections[channel].messages, organization).insert(message)
    const begun = foldedFrom(message, { number: from, address: to })
    work.in(collections[channel].conversations, organization).insert(begun, { ifPresent: "keep" })
    queue.enqueue(work, foldJob, { channel, conversation_id, ends: { number: from, address: to }, sent: id }, { organization })
    queue.enqueue(work, sendJob, { channel, message_id: id }, { organization, key: from, id: `${id}:send`, runAt: sendAt })
    return { message, sendAt }
  }
}
