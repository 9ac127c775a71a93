// Receivers of the authors of mail. Mail that its author's domain disowns, and mail of programs, has no author.
import { defineExtensionPoint, type UnitOfWork } from "#core"

export interface MailAuthor {
  readonly address: string
  readonly name: string
  /** When it was received, RFC 3339. */
  readonly at: string
}

/** Runs in the job of a mail, which may run again. `stage` adds to what it commits, and refuses it where the mail was removed. */
export type AuthorFollower = (organization: string, author: MailAuthor, stage: (work: UnitOfWork) => void) => Promise<void>

export const MailAuthors = defineExtensionPoint<AuthorFollower>({ id: "inbound-mail.authors" })
