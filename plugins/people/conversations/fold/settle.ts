// Computes the state of a sent message from its reports, in any order of arrival. This includes reports from before the
// provider's answer to the send call is stored.
import { type Changes, Clock, type Deps, JobQueue, type Json, Store, timestamp, type UnitOfWork } from "#core"
import { Announcements } from "../announcements.ts"
import { type Channel, collections, foldJob } from "../channels.ts"
import { type StoredMessage, sentTime } from "../messages.ts"
import { isCarrierOptOut, OptOuts } from "../opt-out/ledger.ts"
import { joined } from "../receipts.ts"

/** A message, by the provider's id or its own id. */
export interface Settled {
  readonly provider_id: string
  readonly message_id: string | null
}

export class Settlements {
  static readonly inject = { store: Store, clock: Clock, queue: JobQueue, optOuts: OptOuts, announcements: Announcements }
  readonly #services: Deps<typeof Settlements.inject>

  constructor(services: Deps<typeof Settlements.inject>) {
    this.#services = services
  }

  /** Stages the state according to the reports. Does nothing if the message is unknown or not sent by this service. */
  async stage(work: UnitOfWork, organization: string, channel: Channel, { provider_id, message_id }: Settled): Promise<void> {
    const { store, clock, queue, optOuts, announcements } = this.#services
    const messages = store.open(collections[channel].messages, organization)
    const message = (message_id === null ? undefined : await messages.get(message_id)) ?? (await messages.first({ provider_id }))
    if (message?.direction !== "out" || (message.provider_id !== null && message.provider_id !== provider_id)) return
    const reports = await store.open(collections[channel].receipts, organization).find({ provider_id })
    const { state, error } = joined(message, reports)
    if (message.provider_id === null || state !== message.state || JSON.stringify(error) !== JSON.stringify(message.error)) {
      const now = timestamp(clock.now())
      // A report may arrive before the answer to the call, or after the calling node has stopped.
      const wasSent = sentTime(message) !== undefined
      const set: Changes = {
        provider_id,
        state,
        error: error as Json,
        changed_at: now,
        ...(wasSent ? {} : { sent_at: message.state === "sending" ? message.changed_at : now }),
      }
      const where = { state: message.state, provider_id: message.provider_id }
      work.in(collections[channel].messages, organization).update(message.id, { $set: set }, { where })
      const { id: message_id, conversation_id: session_id } = message
      announcements.stage(work, { organization, channel }, "message", { session_id, message_id, state })
      if (!wasSent) queue.enqueue(work, foldJob, { channel, conversation_id: session_id }, { organization })
    }
    for (const report of reports) {
      if (!report.error || !isCarrierOptOut(channel, report.error.code)) continue
      await this.#optOut(work, organization, channel, { message, error: report.error, optOuts })
    }
  }

  async #optOut(
    work: UnitOfWork,
    organization: string,
    channel: Channel,
    { message, error, optOuts }: { message: StoredMessage; error: { code: string; message: string }; optOuts: OptOuts },
  ): Promise<void> {
    const conversation = await this.#services.store.open(collections[channel].conversations, organization).get(message.conversation_id)
    if (!conversation) return
    const { address } = conversation
    const wording = `${error.code} ${error.message}`.trim()
    const evidence = { source: "carrier_error", message_id: message.id, wording, recorded_by: null } as const
    // Dated to the time of sending. A later statement of the person takes precedence.
    optOuts.stage(work, organization, channel, {
      address,
      kind: "opt_out",
      at: sentTime(message) ?? message.at,
      identity: `${message.id} ${wording}`,
      ...evidence,
    })
  }
}
