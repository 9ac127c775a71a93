// What other areas say: the suppression list of mail, and the gate of the chat app and text messages.
import { timestamp } from "#core"
import type { Finding } from "../../conversations/index.ts"
import type { Suppressions } from "../../suppressions/index.ts"
import type { ConsentRule, RuleAnswer } from "./rules.ts"

/** Mail for any other purpose is what a person asked for, such as a receipt. */
const marketing = "marketing"

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
