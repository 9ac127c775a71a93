// Where the ledger is obeyed: all mail of the service, and all messages by chat app and text.
import type { AskVeto } from "../conversations/index.ts"
import type { MailGuard } from "../email/index.ts"
import { normalEmail } from "../leads/index.ts"
import type { Ledger } from "./ledger.ts"
import type { ConsentQuestion, RuleAnswer } from "./rules/rules.ts"

/** The first of the ledger's own rules that forbids. */
async function forbidden(ledger: Ledger, question: ConsentQuestion): Promise<RuleAnswer | undefined> {
  for (const answer of [await ledger.erasure(question), await ledger.consent(question)]) if (answer.verdict === "forbids") return answer
  return undefined
}

export function mailGuard(ledger: Ledger): MailGuard {
  return {
    async withheld({ organization, category, recipients }) {
      // Of the service to those who run it.
      if (category === "notice") return []
      const purpose = category === "marketing" ? "marketing" : "service"
      const answers = await Promise.all(
        recipients.map(async (address) => {
          const value = normalEmail(address)
          if (value === undefined) return []
          const answer = await forbidden(ledger, { organization, person: { kind: "email", value }, channel: "email", purpose, now: 0 })
          return answer ? [{ address, reason: answer.rule === "erasure" ? "erased" : "no_consent" }] : []
        }),
      )
      return answers.flat()
    },
    refused: async () => undefined,
  }
}

export function messageVeto(ledger: Ledger): AskVeto {
  return async (organization, { channel, address, purpose }) => {
    const answer = await forbidden(ledger, { organization, person: { kind: "phone", value: address }, channel, purpose, now: 0 })
    return answer && { by: "consents", why: answer.why }
  }
}
