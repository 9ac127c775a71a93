// Sends a message at most once. Neither provider has idempotency keys, so the sender marks a message before the call. A message
// with this mark was in progress when a node stopped. Its outcome is unknown until a status arrives.
import {
  AppError,
  Clock,
  changesOf,
  type Deps,
  defineJob,
  JobQueue,
  Postponed,
  RateLimiter,
  Store,
  timestamp,
  type UnitOfWork,
  UnitsOfWork,
} from "#core"
import { Integrations } from "../../../agents/integrations/index.ts"
import { Announcements } from "../announcements.ts"
import { type Channel, collections, foldJob, sendJob, settleJob } from "../channels.ts"
import type { StoredMessage } from "../messages.ts"
import { PhoneNumbers } from "../numbers/phone-number.ts"
import { isCarrierOptOut, OptOuts } from "../opt-out/ledger.ts"
import type { DeliveryState } from "../receipts.ts"
import type { ConversationSettings } from "../settings.ts"
import { type Asked, EgressGate } from "./gate.ts"
import { meta, type Outcome, outcomeOfError, twilio } from "./providers.ts"

const providers = { chat_app: meta, sms: twilio } as const
const callMs = 30_000
const limitedMs = 1_000

interface Services extends Deps<typeof Sender.inject> {
  readonly settings: ConversationSettings
}

interface Sending {
  readonly organization: string
  readonly channel: Channel
  readonly message: StoredMessage
  readonly asked: Asked
}

export class Sender {
  static readonly inject = {
    store: Store,
    clock: Clock,
    works: UnitsOfWork,
    queue: JobQueue,
    limiter: RateLimiter,
    integrations: Integrations,
    numbers: PhoneNumbers,
    optOuts: OptOuts,
    gate: EgressGate,
    announcements: Announcements,
  }
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Throws `Postponed` if the message has to wait. Throws another error if the provider did not accept the message. The job then
   * runs again.
   */
  async send(organization: string, channel: Channel, messageId: string, signal: AbortSignal): Promise<void> {
    const message = await this.#services.store.open(collections[channel].messages, organization).get(messageId)
    if (message?.state === "sending")
      return this.#mark(
        { organization, channel, message },
        "unknown",
        "The service ended while the message was being sent.",
        message.changed_at,
      )
    if (message?.state !== "queued") return
    const asked = await this.#asked(organization, channel, message)
    if (!asked) return this.#mark({ organization, channel, message }, "failed", "Its number or its conversation was removed.")
    const sending = { organization, channel, message, asked }
    if (await this.#refused(sending, async () => this.#wait(await this.#services.gate.pass(organization, asked)))) return
    await this.#takeTurn(sending)
    await this.#change(sending, { state: "sending", error: null }, ["queued"])
    // An opt-out may have been acknowledged meanwhile.
    if (await this.#refused(sending, () => this.#services.gate.refuseUnwanted(organization, asked))) return
    const calledAt = timestamp(this.#services.clock.now())
    await this.#settle(sending, await this.#call(sending, signal), calledAt)
  }

  /** Stages the failure of the message after the last try. */
  async giveUp(work: UnitOfWork, organization: string, channel: Channel, messageId: string): Promise<void> {
    const error = { code: "gave_up", message: "The provider did not take the message, however often it was tried." }
    const set = { state: "failed", error, changed_at: timestamp(this.#services.clock.now()) }
    work.in(collections[channel].messages, organization).update(messageId, { $set: set }, { where: { state: "queued" }, optional: true })
    const message = await this.#services.store.open(collections[channel].messages, organization).get(messageId)
    if (message) this.#announce(work, { organization, channel, message }, "failed")
  }

  async #asked(organization: string, channel: Channel, message: StoredMessage): Promise<Asked | undefined> {
    const { store, numbers } = this.#services
    const conversation = await store.open(collections[channel].conversations, organization).get(message.conversation_id)
    const number = conversation && (await numbers.find(organization, conversation.number))
    return number && { channel, number, address: conversation.address, template: message.template, id: message.id }
  }

  #wait(sendAt: number): void {
    const wait = sendAt - this.#services.clock.now()
    if (wait > 0) throw new Postponed(wait)
  }

  async #takeTurn({ organization, asked: { number } }: Sending): Promise<void> {
    const { limiter, settings } = this.#services
    const bucket = { id: `conversations ${organization} ${number.number}`, limit: settings.messages_per_minute }
    if (!(await limiter.consume([bucket])).allowed) throw new Postponed(limitedMs)
  }

  /** Returns true if the gate refused, and stores the refusal in the message. */
  async #refused(sending: Sending, pass: () => Promise<void>): Promise<boolean> {
    try {
      await pass()
      return false
    } catch (error) {
      if (!(error instanceof AppError) || (error.code !== "failed_precondition" && error.code !== "resource_exhausted")) {
        await this.#change(sending, { state: "queued" }, ["queued", "sending"])
        throw error
      }
      const told = { code: String(error.details.reason ?? error.code), message: error.message }
      await this.#change(sending, { state: "refused", error: told }, ["queued", "sending"])
      return true
    }
  }

  async #call({ organization, channel, message, asked }: Sending, signal: AbortSignal): Promise<Outcome> {
    const { request, integration } = providers[channel].request({ message, address: asked.address, number: asked.number })
    try {
      const response = await this.#services.integrations.call(organization, integration, request, {
        signal,
        timeoutMs: callMs,
        byKeeper: true,
        comesAgain: true,
      })
      return providers[channel].read(response)
    } catch (error) {
      if (error instanceof AppError) return outcomeOfError(error)
      throw error
    }
  }

  async #settle(sending: Sending, outcome: Outcome, calledAt: string): Promise<void> {
    const { organization, channel, message, asked } = sending
    const { queue, optOuts } = this.#services
    switch (outcome.kind) {
      case "accepted": {
        const { provider_id } = outcome
        // Reports may arrive earlier. An accepted call also resolves a message of unknown outcome.
        const set = { state: "accepted", provider_id, error: null, sent_at: calledAt } as const
        return this.#change(sending, set, ["sending", "unknown"], (work) => {
          queue.enqueue(work, settleJob, { channel, provider_id, message_id: message.id }, { organization })
        })
      }
      case "failed": {
        const { code, message: text } = outcome
        const set = { state: "failed", error: { code, message: text }, sent_at: null } as const
        return this.#change(sending, set, ["sending", "unknown"], (work) => {
          if (!isCarrierOptOut(channel, code)) return
          const evidence = {
            source: "carrier_error",
            message_id: message.id,
            wording: `${code} ${text}`.trim(),
            recorded_by: null,
          } as const
          const entry = { address: asked.address, kind: "opt_out", at: calledAt, identity: message.id, ...evidence } as const
          optOuts.stage(work, organization, channel, entry)
        })
      }
      case "again":
        await this.#change(sending, { state: "queued", error: { code: outcome.code, message: outcome.message } }, ["sending"])
        if (outcome.afterMs !== undefined) throw new Postponed(outcome.afterMs)
        throw new Error(`the provider did not take the message (${outcome.code})`)
      case "unknown":
        return this.#mark(sending, "unknown", outcome.message, calledAt)
    }
  }

  #mark(of: Omit<Sending, "asked">, state: "unknown" | "failed", message: string, sentAt: string | null = null): Promise<void> {
    return this.#change(of, { state, error: { code: state, message }, sent_at: sentAt }, ["queued", "sending"])
  }

  /** Commits a change of the message in one of these states. Throws `aborted` if another job changed the message first. */
  async #change(
    { organization, channel, message }: Omit<Sending, "asked">,
    change: Partial<Pick<StoredMessage, "error" | "sent_at">> & { state: DeliveryState; provider_id?: string },
    from: DeliveryState[],
    more: (work: UnitOfWork) => void = () => undefined,
  ): Promise<void> {
    const { works, clock, queue } = this.#services
    const { conversation_id } = message
    await works.run((work) => {
      this.#announce(work, { organization, channel, message }, change.state)
      const set = changesOf({ ...change, changed_at: timestamp(clock.now()) })
      work.in(collections[channel].messages, organization).update(message.id, { $set: set }, { where: { state: { $in: from } } })
      if (change.sent_at !== undefined) queue.enqueue(work, foldJob, { channel, conversation_id }, { organization })
      more(work)
    })
  }

  /** Stages a live message for a new state, except `sending`. */
  #announce(work: UnitOfWork, { organization, channel, message }: Omit<Sending, "asked">, state: DeliveryState): void {
    if (state === "sending") return
    const told = { session_id: message.conversation_id, message_id: message.id, state }
    this.#services.announcements.stage(work, { organization, channel }, "message", told)
  }
}

export const sendMessage = defineJob(sendJob, {
  summary: "Sends a message to a person.",
  // Calls wait for a carrier. The key is the sending number, so a slow carrier leaves slots for other numbers.
  slots: 48,
  limitsKeys: true,
  inject: { sender: Sender },
  run: ({ payload: { channel, message_id }, organization = "", deps, signal }) =>
    deps.sender.send(organization, channel, message_id, signal),
  exhausted: ({ payload: { channel, message_id }, organization = "", deps, work }) =>
    deps.sender.giveUp(work, organization, channel, message_id),
})
