// The gate for every message to a person. Each message passes the gate when accepted and again just before it is sent. Rules: the
// channel's opt-outs, vetoes of other plugins, the 24-hour window and templates, frequency, and quiet hours. Preflight checks of
// the permission to write use the same findings.
import { AppError, Clock, type Deps, type Json, Store, timestamp } from "#core"
import { collections, conversationId } from "../channels.ts"
import { ConversationLeads } from "../leads.ts"
import type { Template } from "../messages.ts"
import type { PhoneNumber } from "../numbers/phone-number.ts"
import { OptOuts } from "../opt-out/ledger.ts"
import type { ConversationSettings } from "../settings.ts"
import { type StoredTemplate, TemplateCollection, templateId } from "../templates.ts"
import { type OutboundMessage, OutboundVetoes, vetoOf } from "../vetoes.ts"
import { loudAt, zonesOf } from "./quiet-hours.ts"

const dayMs = 86_400_000
const minuteMs = 60_000

interface Services extends Deps<typeof EgressGate.inject> {
  readonly settings: ConversationSettings
}

export interface Asked extends Omit<OutboundMessage, "kind" | "number" | "purpose"> {
  readonly number: PhoneNumber
  readonly template: Pick<Template, "name" | "language"> | null
  /** The message's own id, if already stored. */
  readonly id?: string
}

const findingRules = ["connection", "veto", "opt_out", "window", "template", "unanswered", "quiet_hours"] as const

/** The result of one gate rule for a message. */
export interface Finding {
  readonly rule: (typeof findingRules)[number]
  /** A sentence for users. */
  readonly why: string
  readonly evidence: Record<string, Json>
  /** The error of a refusal. Absent if the rule allows or delays the message. */
  readonly refusal?: AppError
  /** End of the delay, milliseconds since the epoch. */
  readonly until?: number
}

export class EgressGate {
  static readonly inject = { store: Store, clock: Clock, optOuts: OptOuts, vetoes: OutboundVetoes, leads: ConversationLeads }
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  /** Returns the send time, milliseconds since the epoch. Throws AppError if the message is refused. */
  async pass(organization: string, asked: Asked): Promise<number> {
    const findings = await this.examine(organization, asked)
    refuse(findings)
    return findings.find(({ until }) => until !== undefined)?.until ?? this.#services.clock.now()
  }

  /** Throws if the person opted out or a plugin vetoes the message. This is the last check before a message leaves. */
  async refuseUnwanted(organization: string, asked: Asked): Promise<void> {
    refuse(await this.#unwanted(organization, asked))
  }

  async purposeOf(organization: string, asked: Asked): Promise<OutboundMessage["purpose"]> {
    return (await this.#template(organization, asked))?.category === "MARKETING" ? "marketing" : "service"
  }

  /** Returns the findings of all rules, in the order of refusal. */
  async examine(organization: string, asked: Asked): Promise<Finding[]> {
    const now = this.#services.clock.now()
    const [unwanted, lastInbound] = await Promise.all([this.#unwanted(organization, asked), this.#lastInbound(organization, asked)])
    const window = await this.#window(organization, asked, now - lastInbound)
    const unanswered = await this.#unanswered(organization, asked, Math.max(lastInbound, now - dayMs))
    return [connection(asked), ...unwanted, ...window, unanswered, await this.#quietHours(organization, asked, now - lastInbound)]
  }

  async #unwanted(organization: string, asked: Asked): Promise<Finding[]> {
    const { channel, number, address } = asked
    const kind = asked.template === null ? "text" : "template"
    const purpose = await this.purposeOf(organization, asked)
    const veto = await vetoOf(this.#services.vetoes, organization, { channel, number: number.number, address, kind, purpose })
    if (!veto) return [silent("veto", "No other part of the service forbids it."), await this.#optOut(organization, asked)]
    const message = `${address} must not be written to: ${veto.why}`
    const refusal = new AppError("failed_precondition", message, { reason: "send_vetoed", by: veto.by })
    return [{ rule: "veto", why: veto.why, evidence: { by: veto.by }, refusal }, await this.#optOut(organization, asked)]
  }

  async #optOut(organization: string, { channel, address }: Asked): Promise<Finding> {
    const { suppressed, entry } = await this.#services.optOuts.standing(organization, channel, address)
    if (!entry) return silent("opt_out", "The person has not opted out of this channel.")
    const { id: entry_id, at, source, message_id, wording } = entry
    const evidence = { entry_id, at, source, message_id, wording }
    if (!suppressed) return silent("opt_out", `The person opted in again at ${at}.`, evidence)
    const message = `${address} has opted out of this channel; only they can opt in again. GET /v1/voice/opt-outs has the evidence.`
    const refusal = new AppError("failed_precondition", message, { reason: "recipient_opted_out" })
    return { rule: "opt_out", why: `The person opted out of this channel at ${at}.`, evidence, refusal }
  }

  async #lastInbound(organization: string, asked: Asked): Promise<number> {
    const of = { conversation_id: conversationIdOf(organization, asked), direction: "in" }
    const messages = this.#services.store.open(collections[asked.channel].messages, organization)
    const newest = await messages.first(of, { sort: { at: -1 } })
    return newest ? Date.parse(newest.at) : 0
  }

  /**
   * Checks the 24-hour window, for the chat app only. A person without a message in the last 24 hours receives approved templates
   * only.
   */
  async #window(organization: string, asked: Asked, sinceMs: number): Promise<Finding[]> {
    const { channel, address, template } = asked
    if (channel !== "chat_app") return []
    if (!template) {
      if (sinceMs < dayMs) return [silent("window", "The person has written in the last 24 hours.")]
      const why = `${address} has not written in the last 24 hours, so that the chat app takes approved templates only.`
      return [{ rule: "window", why, evidence: {}, refusal: new AppError("failed_precondition", why, { reason: "window_closed" }) }]
    }
    const found = await this.#template(organization, asked)
    const status = found?.status ?? ""
    const named = `The template ${template.name} (${template.language})`
    if (status === "APPROVED") return [silent("template", `${named} is approved.`, { status })]
    const is = found ? `is ${status}` : "is not known"
    const why = `${named} ${is}; templates are read again by POST /v1/voice/phone-numbers/{number}/templates.`
    const refusal = new AppError("failed_precondition", why, { reason: "template_not_approved", status })
    return [{ rule: "template", why, evidence: { status }, refusal }]
  }

  async #template(organization: string, { number, template }: Asked): Promise<StoredTemplate | undefined> {
    if (template === null) return undefined
    const id = templateId(organization, { business_account_id: number.chat_app?.business_account_id ?? "", ...template })
    return this.#services.store.open(TemplateCollection, organization).get(id)
  }

  async #unanswered(organization: string, asked: Asked, since: number): Promise<Finding> {
    const { max_unanswered_per_day: max } = this.#services.settings
    const messages = this.#services.store.open(collections[asked.channel].messages, organization)
    const sent = {
      conversation_id: conversationIdOf(organization, asked),
      direction: "out",
      at: { $gt: timestamp(since) },
      state: { $nin: ["refused", "failed"] },
      ...(asked.id === undefined ? {} : { id: { $ne: asked.id } }),
    }
    const evidence = { sent: await messages.count(sent, { limit: max }), limit: max }
    if (evidence.sent < max) return silent("unanswered", `The person has left ${evidence.sent} messages of a day unanswered.`, evidence)
    const why = `${asked.address} was sent ${max} messages in 24 hours and has not answered (max_unanswered_per_day); wait for an answer.`
    const refusal = new AppError("resource_exhausted", why, { reason: "recipient_limit", limit: max })
    return { rule: "unanswered", why, evidence, refusal }
  }

  async #quietHours(organization: string, { address }: Asked, sinceMs: number): Promise<Finding> {
    const { reply_grace_minutes, ...settings } = this.#services.settings
    if (sinceMs <= reply_grace_minutes * minuteMs) return silent("quiet_hours", "The person has just written.")
    const now = this.#services.clock.now()
    const zones = zonesOf(address, await this.#services.leads.timeZoneOf(organization, address))
    const until = loudAt(zones, now, settings)
    const evidence = { time_zones: [...zones] }
    if (until <= now) return silent("quiet_hours", "It is not quiet where the person is.", evidence)
    return { rule: "quiet_hours", why: `It is quiet where the person is; messages wait until ${timestamp(until)}.`, evidence, until }
  }
}

function silent(rule: Finding["rule"], why: string, evidence: Finding["evidence"] = {}): Finding {
  return { rule, why, evidence }
}

function refuse(findings: readonly Finding[]): void {
  for (const { refusal } of findings) if (refusal) throw refusal
}

function conversationIdOf(organization: string, { channel, number: { number }, address }: Asked): string {
  return conversationId(organization, channel, { number, address })
}

function connection({ channel, number }: Asked): Finding {
  const evidence = { number: number.number }
  if (number[channel]) return silent("connection", `${number.number} is connected for this channel.`, evidence)
  const why = `${number.number} has no connection for this channel; give it "${channel}" by PATCH /v1/voice/phone-numbers/{number}.`
  return { rule: "connection", why, evidence, refusal: new AppError("failed_precondition", why, { reason: "channel_not_connected" }) }
}
