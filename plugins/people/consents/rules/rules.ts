// The rules that allow or forbid a message to a person. Areas with a rule of their own extend this point.
import { defineExtensionPoint, type Json } from "#core"
import type { Channel, Person } from "../person.ts"

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
