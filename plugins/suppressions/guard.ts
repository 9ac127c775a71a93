// Holds every message against the suppression list, and keeps what mail servers say of recipients who do not exist.
import type { Logger, UnitsOfWork } from "#core"
import type { LeavingMail, MailGuard, Refusal } from "../email/index.ts"
import { isDeadAddress } from "./status.ts"
import type { Suppressions } from "./suppressions.ts"

export interface GuardServices {
  readonly suppressions: Suppressions
  readonly work: UnitsOfWork
  readonly log: Logger
}

export function suppressionGuard({ suppressions, work, log }: GuardServices): MailGuard {
  return {
    async withheld({ organization, category, recipients }) {
      const barred = await suppressions.among(organization, category, recipients)
      return [...barred].map(([address, reason]) => ({ address, reason }))
    },
    async refused(mail, refusals) {
      const dead = refusals.filter(({ status }) => status !== null && isDeadAddress(status))
      if (dead.length === 0) return
      try {
        await work.run((staged) => Promise.all(dead.map((refusal) => suppressions.add(staged, mail.organization, bounced(mail, refusal)))))
      } catch (error) {
        // The next message to the address is refused likewise.
        log.warn({ err: error, message_id: mail.messageId }, "a hard bounce could not be kept")
      }
    },
  }
}

function bounced({ messageId }: LeavingMail, { address, status, text }: Refusal) {
  const evidence = { message_id: messageId, smtp_status: status, report: text }
  return { address, reason: "hard_bounce" as const, source: "smtp" as const, evidence }
}
