// What other plugins have to say of a message right before it is handed to the mail server: who may not be written to, and
// what the server said of single recipients. Without any, everybody is written to.
import { defineExtensionPoint, type UnitOfWork } from "#core"
import type { MailAddress } from "./addresses.ts"

/** Purpose of a message. `notice`: from the service to its operators. `sign_in`: from the service to a person who signs in; no guard withholds or records it. */
export type MailCategory = "transactional" | "marketing" | "notice" | "sign_in"

export interface LeavingMail {
  readonly organization: string
  readonly category: MailCategory
  /** With angle brackets. */
  readonly messageId: string
  readonly recipients: readonly string[]
}

export interface Withheld {
  /** As it is among the recipients. */
  readonly address: string
  readonly reason: string
}

/** What of a message its recipients see. */
export interface SentContent {
  readonly from: MailAddress
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly subject: string
  readonly text: string
  /** RFC 3339. */
  readonly at: string
}

/** What a mail server answered to one recipient. */
export interface Refusal {
  readonly address: string
  /** The enhanced status code (RFC 3463), such as 5.1.1; null where there was none. */
  readonly status: string | null
  /** False where the server may take it later. */
  readonly permanent: boolean
  readonly text: string
}

export interface MailGuard {
  /** Where the one recipient of a marketing message unsubscribes; undefined: this guard has no such address. */
  unsubscribeUrl?(mail: LeavingMail): Promise<string | undefined>
  /** Told before the message is handed over. What stands behind the plus of its envelope sender, on a return path, so that bounces name it. */
  returnToken?(mail: LeavingMail): Promise<string | undefined>
  withheld(mail: LeavingMail): Promise<readonly Withheld[]>
  /** Told after the message was handed over, or was not taken at all. Does not throw: a message that left must not be sent again. */
  refused(mail: LeavingMail, refusals: readonly Refusal[]): Promise<void>
  /** Called after the message was handed over. Stages the consequences in `work`, or commits them if there is none. Does not throw. */
  sent?(mail: LeavingMail, content: SentContent, work: UnitOfWork | undefined): Promise<void> | void
}

export const MailGuards = defineExtensionPoint<MailGuard>({ id: "email.guards" })

/** All guards as one. */
export function combined(guards: readonly MailGuard[]): Required<MailGuard> {
  const first = async (answer: (guard: MailGuard) => Promise<string | undefined> | undefined) => {
    for (const guard of guards) {
      const found = await answer(guard)
      if (found !== undefined) return found
    }
    return undefined
  }
  return {
    unsubscribeUrl: (mail) => first((guard) => guard.unsubscribeUrl?.(mail)),
    returnToken: (mail) => first((guard) => guard.returnToken?.(mail)),
    withheld: async (mail) => (await Promise.all(guards.map((guard) => guard.withheld(mail)))).flat(),
    async refused(mail, refusals) {
      for (const guard of guards) await guard.refused(mail, refusals)
    },
    async sent(mail, content, work) {
      for (const guard of guards) await guard.sent?.(mail, content, work)
    },
  }
}
