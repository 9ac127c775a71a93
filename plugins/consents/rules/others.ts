// Rules of other areas: the suppression list of mail, the opt-out ledgers of the chat app and text messages, quiet hours.
import { timestamp } from "#core"
import type { ConversationStanding } from "../../conversations/index.ts"
import type { Suppressions } from "../../suppressions/index.ts"
import type { ConsentRule } from "./rules.ts"

/** Mail for any other purpose is what a person asked for, such as a receipt. */
const marketing = "marketing"

export function suppressionRule(suppressions: Suppressions): ConsentRule {
  return async ({ organization, person, channel, purpose }) => {
    if (channel !== "email") return undefined
    const category = purpose === marketing ? "marketing" : "transactional"
    const [found] = await suppressions.obeyed(organization, category, person.value)
    if (!found) return { rule: "suppression", verdict: "silent", why: "The address is not on the suppression list.", evidence: {} }
    const { id, reason, source, created_at, evidence } = found
    const why = `The address is on the suppression list (${reason}) since ${created_at}.`
    return { rule: "suppression", verdict: "forbids", why, evidence: { suppression_id: id, reason, source, created_at, ...evidence } }
  }
}

export function optOutRule(standing: ConversationStanding): ConsentRule {
  return async ({ organization, person, channel }) => {
    if (channel !== "chat_app" && channel !== "sms") return undefined
    const entry = await standing.newestOptOut(organization, channel, person.value)
    if (!entry) return { rule: "opt_out", verdict: "silent", why: "The person has not opted out of this channel.", evidence: {} }
    const { id, kind, at, source, message_id, wording } = entry
    const evidence = { entry_id: id, at, source, message_id, wording }
    if (kind === "opt_in") return { rule: "opt_out", verdict: "silent", why: `The person opted in again at ${at}.`, evidence }
    return { rule: "opt_out", verdict: "forbids", why: `The person opted out of this channel at ${at}.`, evidence }
  }
}

export function quietHoursRule(standing: ConversationStanding): ConsentRule {
  return async ({ person, channel, now }) => {
    if (channel !== "chat_app" && channel !== "sms") return undefined
    const loudAt = standing.loudAt(person.value, now)
    if (loudAt <= now) return { rule: "quiet_hours", verdict: "silent", why: "It is not quiet where the number is from.", evidence: {} }
    const until = timestamp(loudAt)
    return {
      rule: "quiet_hours",
      verdict: "forbids",
      why: `It is quiet where the number is from; messages wait until ${until}.`,
      evidence: {},
      until,
    }
  }
}
