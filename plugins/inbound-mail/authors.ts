// Who is told of people that write by mail. A mail that its author's domain disowns, or that a program wrote, is not told of.
import { token, type UnitOfWork } from "#core"

export interface MailAuthor {
  readonly address: string
  readonly name: string
  /** When it was received, RFC 3339. */
  readonly at: string
}

/** Runs in the job of a mail, which may run again. `stage` adds to what it commits, and refuses it where the mail was removed. */
export type AuthorFollower = (organization: string, author: MailAuthor, stage: (work: UnitOfWork) => void) => Promise<void>

export interface MailAuthors {
  /** To be called while services are created. */
  use(follower: AuthorFollower): void
  seen: AuthorFollower
}

export const MailAuthors = token<MailAuthors>("MailAuthors")

export function createMailAuthors(): MailAuthors {
  const followers: AuthorFollower[] = []
  return {
    use: (follower) => void followers.push(follower),
    async seen(organization, author, stage) {
      for (const follower of followers) await follower(organization, author, stage)
    },
  }
}
