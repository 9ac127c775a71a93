// The extension point of what decides whether a person may be written to. An area with a rule of its own names "consents"
// in `needs`, injects ConsentRules while services are created, and offers a ConsentRule.
import { type Json, token } from "#core"
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

export interface ConsentRules {
  /** To be called while services are created. */
  use(rule: ConsentRule): void
  answers(question: ConsentQuestion): Promise<RuleAnswer[]>
}

export const ConsentRules = token<ConsentRules>("ConsentRules")

export function createConsentRules(): ConsentRules {
  const rules: ConsentRule[] = []
  return {
    use: (rule) => void rules.push(rule),
    answers: async (question) => (await Promise.all(rules.map((rule) => rule(question)))).filter((answer) => answer !== undefined),
  }
}
