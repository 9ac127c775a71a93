// Applies the consent rules to all mail of the service and to all chat app and text messages.
import type { Clock } from "#core"
import type { AskVeto } from "../conversations/index.ts"
import type { MailGuard } from "../email/index.ts"
import { normalEmail } from "../leads/index.ts"
import { answersOf, type ConsentQuestion, type ConsentRule, type RuleAnswer, suppression } from "./rules.ts"

/** Returns the first rule with a veto. Skips the suppression list: its own guard checks the list and reports the reason. */
async function forbidden(rules: readonly ConsentRule[], question: ConsentQuestion): Promise<RuleAnswer | undefined> {
  return (await answersOf(rules, question)).find(({ rule, verdict }) => verdict === "forbids" && rule !== suppression)
}

export function mailGuard(rules: readonly ConsentRule[], clock: Clock): MailGuard {
  return {
    async withheld({ organization, category, recipients }) {
      // Notices go to the operators of the service.
      if (category === "notice") return []
      const purpose = category === "marketing" ? "marketing" : "service"
      const answers = await Promise.all(
        recipients.map(async (address) => {
          const value = normalEmail(address)
          if (value === undefined) return []
          const now = clock.now()
          const answer = await forbidden(rules, { organization, person: { kind: "email", value }, channel: "email", purpose, now })
          return answer ? [{ address, reason: answer.rule === "erasure" ? "erased" : "no_consent" }] : []
        }),
      )
      return answers.flat()
    },
    refused: async () => undefined,
  }
}

export function messageVeto(rules: readonly ConsentRule[], clock: Clock): AskVeto {
  return async (organization, { channel, address, purpose }) => {
    const now = clock.now()
    const answer = await forbidden(rules, { organization, person: { kind: "phone", value: address }, channel, purpose, now })
    return answer && { by: "consents", why: answer.why, erased: answer.rule === "erasure" }
  }
}
