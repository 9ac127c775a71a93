// The extension point for received mail. A plugin for bounces or complaint reports extends it:
//
//   extend: [[MailHandlers, {
//     name: "bounces",
//     accepts: (recipient) => tokenOf(recipient.address) !== undefined,
//     claims: ({ route }) => route.kind === "bounce",
//     async handle(mail, work) { … },
//   }]]
//
// Only the first handler that claims a mail handles it. `handle` runs in a job, after the mail is on disk.
// The job commits the staged writes together with the mark of the handled mail, so exactly once. If `handle` throws, the job retries.
// Unclaimed mail becomes a message of a conversation. On a return path unclaimed mail is dropped.
import { defineExtensionPoint, type UnitOfWork } from "#core"
import type { MailRoute } from "../sending-domains/index.ts"
import type { Authentication } from "./parse/authentication.ts"
import type { MailContent } from "./parse/content.ts"

export interface MailRecipient {
  /** As sent by the client. The domain may have any case and form. */
  readonly address: string
  readonly localPart: string
  readonly route: MailRoute
}

export interface MailEnvelope {
  /** Empty for the null sender of bounces. */
  readonly from: string
  /** Only the recipients of the route. */
  readonly recipients: readonly string[]
  readonly remote_address: string
  /** The client's name for itself. */
  readonly helo: string
  readonly tls: boolean
}

export interface ReceivedMail {
  /** UUID, the same at each try. */
  readonly id: string
  readonly route: MailRoute
  readonly envelope: MailEnvelope
  /** RFC 3339. */
  readonly received_at: string
  readonly content: MailContent
  readonly authentication: Authentication
  /** Returns the original message, with `Return-Path` and `Received` in front. */
  raw(): Promise<Uint8Array>
}

export interface MailHandler {
  readonly name: string
  /**
   * Returns true to accept mail for an address on a return path (`bounce.<domain>`). Without a handler, the server refuses the
   * recipient at RCPT.
   */
  accepts?(recipient: MailRecipient): boolean
  claims(mail: ReceivedMail): boolean
  handle(mail: ReceivedMail, work: UnitOfWork): Promise<void>
}

export const MailHandlers = defineExtensionPoint<MailHandler>({ id: "inbound-mail.handlers" })

interface MailAuthor {
  readonly address: string
  readonly name: string
  /** Time of receipt, RFC 3339. */
  readonly at: string
}

/** Runs in the job of a mail and may repeat. `stage` adds to the job's commit, and fails the commit if the mail was removed. */
export type AuthorFollower = (organization: string, author: MailAuthor, stage: (work: UnitOfWork) => void) => Promise<void>

/** Receivers of mail authors. Quarantined mail and mail of programs have no author. */
export const MailAuthors = defineExtensionPoint<AuthorFollower>({ id: "inbound-mail.authors" })
