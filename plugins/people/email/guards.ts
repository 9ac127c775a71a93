// Guards of other plugins check each message just before the mail server receives it. They withhold recipients and record the
// server's refusals. Without guards, all recipients receive mail.
import { defineExtensionPoint, type UnitOfWork } from "#core"
import type { MailAddress } from "./addresses.ts"

/**
 * Purpose of a message. `notice`: from the service to its operators. `sign_in`: to a person who signs in. Guards neither withhold
 * nor record a `sign_in` mail.
 */
export type MailCategory = "transactional" | "marketing" | "notice" | "sign_in"

export interface LeavingMail {
  readonly organization: string
  readonly category: MailCategory
  /** With angle brackets. */
  readonly messageId: string
  readonly recipients: readonly string[]
}

export interface Withheld {
  /** In the spelling of the recipient list. */
  readonly address: string
  readonly reason: string
}

/** Content visible to the recipients. */
export interface SentContent {
  readonly from: MailAddress
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly subject: string
  readonly text: string
  /** RFC 3339. */
  readonly at: string
}

/** A mail server's refusal of a recipient. */
export interface Refusal {
  readonly address: string
  /** The enhanced status code (RFC 3463), such as 5.1.1. Null if absent. */
  readonly status: string | null
  /** False if the server may accept the message later. */
  readonly permanent: boolean
  readonly text: string
}

export interface MailGuard {
  /** Returns the unsubscribe URL for the single recipient of a marketing message. Undefined if this guard has no URL. */
  unsubscribeUrl?(mail: LeavingMail): Promise<string | undefined>
  /**
   * Called before the message is sent. Returns the token after the plus of the envelope sender on a return path. Bounces carry
   * the token.
   */
  returnToken?(mail: LeavingMail): Promise<string | undefined>
  withheld(mail: LeavingMail): Promise<readonly Withheld[]>
  /**
   * Called after the message was sent or refused for all recipients. Does not throw, because a sent message must not be sent
   * again.
   */
  refused(mail: LeavingMail, refusals: readonly Refusal[]): Promise<void>
  /** Called after the message was sent. Stages the consequences in `work`, or commits them if `work` is absent. Does not throw. */
  sent?(mail: LeavingMail, content: SentContent, work: UnitOfWork | undefined): Promise<void> | void
}

export const MailGuards = defineExtensionPoint<MailGuard>({ id: "email.guards" })

/** Combines all guards. */
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
