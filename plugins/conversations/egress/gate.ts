// The gate that every message to a person passes, when it is asked for and again just before it is sent: the channel's own
// ledger, the vetoes of others, the 24-hour window and templates, how often, and quiet hours.
import { AppError, type Clock, type Store, timestamp, token } from "#core"
import { collections, conversationId } from "../channels.ts"
import type { Template } from "../messages.ts"
import type { PhoneNumber } from "../numbers/collections.ts"
import type { OptOuts } from "../opt-out/ledger.ts"
import type { ConversationSettings } from "../settings.ts"
import { type StoredTemplate, TemplateCollection, templateId } from "../templates/collections.ts"
import { loudAt } from "./quiet-hours.ts"
import type { OutboundMessage, OutboundVetoes } from "./vetoes.ts"

const dayMs = 86_400_000
const minuteMs = 60_000

interface Services {
  readonly store: Store
  readonly clock: Clock
  readonly optOuts: OptOuts
  readonly vetoes: OutboundVetoes
  readonly settings: ConversationSettings
}

export interface Asked extends Omit<OutboundMessage, "kind" | "number" | "purpose"> {
  readonly number: PhoneNumber
  readonly template: Template | null
  /** Its own id, where it is stored already. */
  readonly id?: string
}

export class EgressGate {
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  /** When the message may be sent, milliseconds since the epoch. Throws AppError where it may not. */
  async pass(organization: string, asked: Asked): Promise<number> {
    const { channel, number } = asked
    if (!number[channel]) throw notConnected(asked)
    await this.refuseUnwanted(organization, asked)
    const now = this.#services.clock.now()
    const lastInbound = await this.#lastInbound(organization, asked)
    await this.#checkWindow(organization, asked, now - lastInbound)
    await this.#checkUnanswered(organization, asked, Math.max(lastInbound, now - dayMs))
    const { reply_grace_minutes, ...settings } = this.#services.settings
    return now - lastInbound <= reply_grace_minutes * minuteMs ? now : loudAt(asked.address, now, settings)
  }

  /** Throws where the person refused, or somebody else forbids it: the last that is asked before a message leaves. */
  async refuseUnwanted(organization: string, asked: Asked): Promise<void> {
    const { optOuts, vetoes } = this.#services
    const { channel, number, address } = asked
    const kind = asked.template === null ? "text" : "template"
    const purpose = (await this.#template(organization, asked))?.category === "MARKETING" ? "marketing" : "service"
    const veto = await vetoes.of(organization, { channel, number: number.number, address, kind, purpose })
    if (veto)
      throw new AppError("failed_precondition", `${address} must not be written to: ${veto.why}`, { reason: "send_vetoed", by: veto.by })
    if ((await optOuts.suppressed(organization, channel, [address])).size === 0) return
    const message = `${address} has opted out of this channel; only they can opt in again. GET /v1/voice/opt-outs has the evidence.`
    throw new AppError("failed_precondition", message, { reason: "recipient_opted_out" })
  }

  async #lastInbound(organization: string, asked: Asked): Promise<number> {
    const of = { conversation_id: conversationIdOf(organization, asked), direction: "in" }
    const messages = this.#services.store.open(collections[asked.channel].messages, organization)
    const newest = await messages.first(of, { sort: { at: -1 } })
    return newest ? Date.parse(newest.at) : 0
  }

  /** Of the chat app alone: who has not written for a day is written to by approved templates only. */
  async #checkWindow(organization: string, asked: Asked, sinceMs: number): Promise<void> {
    const { channel, address, template } = asked
    if (channel !== "chat_app") return
    if (!template) {
      if (sinceMs < dayMs) return
      const message = `${address} has not written in the last 24 hours, so that the chat app takes approved templates only.`
      throw new AppError("failed_precondition", message, { reason: "window_closed" })
    }
    const found = await this.#template(organization, asked)
    if (found?.status === "APPROVED") return
    const is = found ? `is ${found.status}` : "is not known"
    const message = `The template ${template.name} (${template.language}) ${is}; templates are read again by POST /v1/voice/phone-numbers/{number}/templates.`
    throw new AppError("failed_precondition", message, { reason: "template_not_approved", status: found?.status ?? "" })
  }

  async #template(organization: string, { number, template }: Asked): Promise<StoredTemplate | undefined> {
    if (template === null) return undefined
    const id = templateId(organization, { business_account_id: number.chat_app?.business_account_id ?? "", ...template })
    return this.#services.store.open(TemplateCollection, organization).get(id)
  }

  async #checkUnanswered(organization: string, asked: Asked, since: number): Promise<void> {
    const { max_unanswered_per_day: max } = this.#services.settings
    const messages = this.#services.store.open(collections[asked.channel].messages, organization)
    const sent = {
      conversation_id: conversationIdOf(organization, asked),
      direction: "out",
      at: { $gt: timestamp(since) },
      state: { $nin: ["refused", "failed"] },
      ...(asked.id === undefined ? {} : { id: { $ne: asked.id } }),
    }
    if ((await messages.count(sent, { limit: max })) < max) return
    const message = `${asked.address} was sent ${max} messages in 24 hours and has not answered (max_unanswered_per_day); wait for an answer.`
    throw new AppError("resource_exhausted", message, { reason: "recipient_limit", limit: max })
  }
}

function conversationIdOf(organization: string, { channel, number: { number }, address }: Asked): string {
  return conversationId(organization, channel, { number, address })
}

function notConnected({ channel, number }: Asked): AppError {
  const message = `${number.number} has no connection for this channel; give it "${channel}" by PATCH /v1/voice/phone-numbers/{number}.`
  return new AppError("failed_precondition", message, { reason: "channel_not_connected" })
}

export const EgressGateToken = token<EgressGate>("EgressGate")
