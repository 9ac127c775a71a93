// The extension point of received mail. A plugin that takes bounces or complaint reports extends it:
//
//   extend: [[MailHandlers, {
//     name: "bounces",
//     accepts: (recipient) => tokenOf(recipient.address) !== undefined,
//     claims: ({ route }) => route.kind === "bounce",
//     async handle(mail, work) { … },
//   }]]
//
// Only the first handler that claims a mail handles it. `handle` runs in a job,
// after the mail is on disk: what it stages is committed together with the mark that the mail is handled, so once; where
// it throws, the job tries again. Mail that nobody claims becomes a message of a conversation; on a return path it ends.
import { defineExtensionPoint, type UnitOfWork } from "#core"
import type { MailRoute } from "../sending-domains/index.ts"
import type { Authentication } from "./parse/authentication.ts"
import type { MailContent } from "./parse/content.ts"

export interface MailRecipient {
  /** As the client gave it; the domain in any case and form. */
  readonly address: string
  readonly localPart: string
  readonly route: MailRoute
}

export interface MailEnvelope {
  /** Empty for the null sender, which bounces have. */
  readonly from: string
  /** Those recipients alone that the route is for. */
  readonly recipients: readonly string[]
  readonly remote_address: string
  /** What the client called itself. */
  readonly helo: string
  readonly tls: boolean
}

export interface ReceivedMail {
  /** UUID; the same at each try. */
  readonly id: string
  readonly route: MailRoute
  readonly envelope: MailEnvelope
  /** RFC 3339. */
  readonly received_at: string
  readonly content: MailContent
  readonly authentication: Authentication
  /** The message as it came, with `Return-Path` and `Received` in front. */
  raw(): Promise<Uint8Array>
}

export interface MailHandler {
  readonly name: string
  /** Whether to take mail for an address on a return path (`bounce.<domain>`); what no handler accepts is refused at RCPT. */
  accepts?(recipient: MailRecipient): boolean
  claims(mail: ReceivedMail): boolean
  handle(mail: ReceivedMail, work: UnitOfWork): Promise<void>
}

export const MailHandlers = defineExtensionPoint<MailHandler>({ id: "inbound-mail.handlers" })

interface MailAuthor {
  readonly address: string
  readonly name: string
  /** When it was received, RFC 3339. */
  readonly at: string
}

/** Runs in the job of a mail, which may run again. `stage` adds to what it commits, and refuses it where the mail was removed. */
export type AuthorFollower = (organization: string, author: MailAuthor, stage: (work: UnitOfWork) => void) => Promise<void>

/** Receivers of the authors of mail. Mail that its author's domain disowns, and mail of programs, has no author. */
export const MailAuthors = defineExtensionPoint<AuthorFollower>({ id: "inbound-mail.authors" })
