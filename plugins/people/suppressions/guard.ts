// Checks every message against the suppression list, and records hard bounces from mail servers.
import type { Clock, Logger, PublicUrl, Store, UnitsOfWork } from "#core"
import type { LeavingMail, MailGuard, Refusal } from "../email/index.ts"
import { rememberSent } from "./bounces/sent-mail.ts"
import type { MailKeys } from "./keys.ts"
import { unsubscribePath, unsubscribeToken } from "./sealed-link.ts"
import type { Suppressions } from "./suppressions.ts"

export interface GuardServices {
  readonly store: Store
  readonly clock: Clock
  readonly suppressions: Suppressions
  readonly keys: MailKeys
  readonly work: UnitsOfWork
  readonly publicUrl: PublicUrl
  readonly log: Logger
}

export function suppressionGuard(services: GuardServices): MailGuard {
  const { suppressions, keys, work, publicUrl, log } = services
  return {
    returnToken: (mail) => rememberSent(services, mail),
    async unsubscribeUrl({ organization, category, recipients: [address], messageId }) {
      if (category !== "marketing" || address === undefined) return undefined
      const token = await unsubscribeToken(keys, { organization, address, category, messageId })
      return `${publicUrl()}${unsubscribePath.replace("{token}", token)}`
    },
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
        // The next message to the address produces the same refusal.
        log.warn({ err: error, message_id: mail.messageId }, "a hard bounce could not be kept")
      }
    },
  }
}

function bounced({ messageId }: LeavingMail, { address, status, text }: Refusal) {
  const evidence = { message_id: messageId, smtp_status: status, report: text }
  return { address, reason: "hard_bounce" as const, source: "smtp" as const, evidence }
}

// Enhanced status codes (RFC 3463) of unusable addresses.

/** Permanent errors of the message or its sender instead of the address, or of a full mailbox. */
const aboutMessage = /^5\.(?:1\.[78]|2\.[23]|3\.4|4\.[67]|[567]\.\d+)$/

/** Returns true if mail to the address fails regardless of content and sender. */
export function isDeadAddress(status: string): boolean {
  return status.startsWith("5.") && !aboutMessage.test(status)
}
