// The rules that allow or forbid a message to a person. Areas with a rule of their own extend this point.
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
  /** `silent`: it knows nothing that speaks for or against. */
  readonly verdict: "allows" | "forbids" | "silent"
  /** A sentence for people. */
  readonly why: string
  /** Ids, times and wordings that prove it. */
  readonly evidence: Record<string, Json>
  /** RFC 3339; of what forbids for a time. */
  readonly until?: string
}

/** Undefined: the rule is not about this channel. */
export type ConsentRule = (question: ConsentQuestion) => Promise<RuleAnswer | undefined>

export const ConsentRules = defineExtensionPoint<ConsentRule>({ id: "consents.rules" })

/** Returns the answers of the rules about this channel. */
export async function answersOf(rules: readonly ConsentRule[], question: ConsentQuestion): Promise<RuleAnswer[]> {
  return (await Promise.all(rules.map((rule) => rule(question)))).filter((answer) => answer !== undefined)
}

/** Mail for any other purpose is what a person asked for, such as a receipt. */
const marketing = "marketing"

/** What other areas say: the suppression list of mail, and the gate of the chat app and text messages. */
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

/** What the gate of the chat app and text messages finds, as a rule's answer. */
export function answerOf({ rule, why, evidence, refusal, until }: Finding): RuleAnswer {
  if (until !== undefined) return { rule, verdict: "forbids", why, evidence, until: timestamp(until) }
  return { rule, verdict: refusal ? "forbids" : "silent", why, evidence }
}
