// The rules for messages to a person. Other areas add their own rules to this extension point.
import { defineExtensionPoint, type Json, timestamp } from "#core"
import type { Finding } from "../conversations/index.ts"
import type { Suppressions } from "../suppressions/index.ts"
import type { Channel, Person } from "./person.ts"

export interface ConsentQuestion {
  readonly organization: string
  readonly person: Person
  readonly channel: Channel
  readonly purpose: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface RuleAnswer {
  /** Stable name, such as `consent` or `opt_out`. */
  readonly rule: string
  /** `silent`: the rule has no evidence for or against a message. */
  readonly verdict: "allows" | "forbids" | "silent"
  /** A sentence for users. */
  readonly why: string
  /** Ids, times and wordings as evidence. */
  readonly evidence: Record<string, Json>
  /** RFC 3339. Set if the veto expires. */
  readonly until?: string
}

/** Returns undefined if the rule does not cover the channel. */
export type ConsentRule = (question: ConsentQuestion) => Promise<RuleAnswer | undefined>

export const ConsentRules = defineExtensionPoint<ConsentRule>({ id: "consents.rules" })

/** Returns the answers of the rules about this channel. */
export async function answersOf(rules: readonly ConsentRule[], question: ConsentQuestion): Promise<RuleAnswer[]> {
  return (await Promise.all(rules.map((rule) => rule(question)))).filter((answer) => answer !== undefined)
}

/** Marketing purpose. Mail for other purposes counts as requested, such as a receipt. */
const marketing = "marketing"

/** Rules of other areas: the suppression list of mail, and the gate of chat app and text messages. */
export const suppression = "suppression"

export function suppressionRule(suppressions: Suppressions): ConsentRule {
  return async ({ organization, person, channel, purpose }) => {
    if (channel !== "email") return undefined
    const category = purpose === marketing ? "marketing" : "transactional"
    const [found] = await suppressions.obeyed(organization, category, person.value)
    if (!found) return { rule: suppression, verdict: "silent", why: "The address is not on the suppression list.", evidence: {} }
    const { id, reason, source, created_at, evidence } = found
    const why = `The address is on the suppression list (${reason}) since ${created_at}.`
    return { rule: suppression, verdict: "forbids", why, evidence: { suppression_id: id, reason, source, created_at, ...evidence } }
  }
}

/** Converts a finding of the message gate to a rule's answer. */
export function answerOf({ rule, why, evidence, refusal, until }: Finding): RuleAnswer {
  if (until !== undefined) return { rule, verdict: "forbids", why, evidence, until: timestamp(until) }
  return { rule, verdict: refusal ? "forbids" : "silent", why, evidence }
}
