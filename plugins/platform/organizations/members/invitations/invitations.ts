// Invitations of members: one for each address, mailed by a job, with a code for single use. A new code replaces the old code.

import { z } from "zod"
import {
  AppError,
  type Caller,
  Clock,
  type Deps,
  defineJob,
  derivedUuid,
  JobQueue,
  PublicUrl,
  type Sealed,
  Store,
  timestamp,
  type UnitOfWork,
  Vault,
} from "#core"
import { jobSealContext, type Role } from "#core/engine"
import { Mailer } from "../../../../people/email/index.ts"
import { Users } from "../../../identity/index.ts"
import { countToday } from "../../collections.ts"
import { Organizations } from "../../directory.ts"
import { Members } from "../members.ts"
import { drawCode, invitationId } from "./code.ts"
import { InvitationDaysCollection, InvitedAddressesCollection, type MemberInvitation, MemberInvitationsCollection } from "./collections.ts"

export interface InvitationsDeps extends Deps<typeof Invitations.inject> {
  /** Mails of one organization in a day. */
  readonly maxPerDay: number
}

export interface SentInvitation {
  readonly invitation: MemberInvitation
  /** Null if only the mail contains the link. */
  readonly link: string | null
}

const validMs = 7 * 86_400_000

export class Invitations {
  static readonly inject = {
    store: Store,
    clock: Clock,
    queue: JobQueue,
    vault: Vault,
    publicUrl: PublicUrl,
    mailer: Mailer,
    users: Users,
    members: Members,
  }
  readonly #deps: InvitationsDeps

  constructor(deps: InvitationsDeps) {
    this.#deps = deps
  }

  /** Reads an invitation of the organization. Throws `not_found`. */
  async require(organization: string, id: string): Promise<MemberInvitation> {
    const invitation = await this.#deps.store.open(MemberInvitationsCollection, organization).get(id)
    if (invitation) return invitation
    throw new AppError("not_found", `The organization has no invitation ${id}; it was accepted or revoked, or has expired.`, {
      reason: "member_invitation_not_found",
    })
  }

  find(organization: string, email: string): Promise<MemberInvitation | undefined> {
    return this.#deps.store.open(MemberInvitationsCollection, organization).get(invitationId(organization, email))
  }

  /** Stages the invitation of an address, or a new code and role for its existing invitation. Throws for a member. */
  async invite(work: UnitOfWork, caller: Caller, email: string, role: Role): Promise<SentInvitation> {
    const organization = caller.organization.id
    const user = await this.#deps.users.byEmail(email)
    if (user && (await this.#deps.members.find(organization, user.id))) {
      const message = `${email} belongs to a member already; change the role with PATCH /v1/members/${user.id}.`
      throw new AppError("failed_precondition", message, { reason: "already_member" })
    }
    return await this.#send(work, caller, await this.find(organization, email), { email, role })
  }

  /** Stages a new code, and its mail. */
  resend(work: UnitOfWork, caller: Caller, invitation: MemberInvitation): Promise<SentInvitation> {
    return this.#send(work, caller, invitation, invitation)
  }

  revoke(work: UnitOfWork, organization: string, { id, hash }: MemberInvitation): void {
    work.in(MemberInvitationsCollection, organization).remove(id, { where: { hash } })
  }

  /** Stages the end of a departing person's open invitations. They must not allow a return. */
  async revokeOf(work: UnitOfWork, organization: string, user: string): Promise<void> {
    const open = this.#deps.store.open(MemberInvitationsCollection, organization).stream({ "invited_by.user_id": user })
    for await (const { id } of open) work.in(MemberInvitationsCollection, organization).remove(id, { optional: true })
  }

  async #send(
    work: UnitOfWork,
    caller: Caller,
    before: MemberInvitation | undefined,
    { email, role }: Pick<MemberInvitation, "email" | "role">,
  ): Promise<SentInvitation> {
    const { clock, mailer, publicUrl } = this.#deps
    const organization = caller.organization.id
    await this.#countMail(work, organization)
    const id = invitationId(organization, email)
    const { code, hash } = drawCode(organization, id)
    const now = clock.now()
    const fields = {
      email,
      role,
      hash,
      shown: mailer.writesOutbox,
      invited_by: { credential_id: caller.credential.id, user_id: caller.user?.id ?? null },
      sent_at: timestamp(now),
      expires_at: timestamp(now + validMs),
    }
    const invitation = { id, ...fields, created_at: before?.created_at ?? timestamp(now) }
    const invitations = work.in(MemberInvitationsCollection, organization)
    if (before) invitations.update(id, { $set: fields }, { where: { hash: before.hash } })
    else invitations.insert(invitation)
    const { expires_at } = invitation
    const address = { $set: { email, owner_id: organization, expires_at } }
    work.in(InvitedAddressesCollection).update(id, address, { upsert: true })
    const link = `${publicUrl()}/console/join#code=${code}`
    this.#mail(work, organization, invitation, link)
    return { invitation, link: invitation.shown ? link : null }
  }

  /** The job stores the link sealed. The job of an older code sends no mail. */
  #mail(work: UnitOfWork, organization: string, { id, hash }: MemberInvitation, link: string): void {
    const { queue, vault } = this.#deps
    const job = derivedUuid("member invitation mail", id, hash)
    const sealed = vault.seal(link, jobSealContext(job))
    queue.enqueue(work, invitationMail, { invitation_id: id, hash, sealed }, { organization, id: job })
  }

  /** Counts the mail of this day. Throws `resource_exhausted` at the limit. */
  async #countMail(work: UnitOfWork, organization: string): Promise<void> {
    const { store, clock, maxPerDay } = this.#deps
    const retryAfterS = await countToday({
      now: clock.now(),
      limit: maxPerDay,
      idOf: (day) => derivedUuid("member invitations of a day", organization, day),
      stored: store.open(InvitationDaysCollection, organization),
      staged: work.in(InvitationDaysCollection, organization),
    })
    if (retryAfterS === undefined) return
    const message = `${maxPerDay} invitations a day are the limit of an organization; try again in ${retryAfterS} s.`
    const details = { reason: "too_many_invitations", limit: maxPerDay, retry_after_s: retryAfterS } as const
    throw new AppError("resource_exhausted", message, details, { retryAfterS })
  }
}

/** The mail of an invitation. A replaced, used or revoked code is not mailed. */
export const invitationMail = defineJob({
  type: "organizations.invitation_mail",
  summary: "Mails an invitation to join an organization.",
  // `hash` belongs to the code in the sealed link.
  payload: z.object({ invitation_id: z.uuid(), hash: z.string(), sealed: z.custom<Sealed>() }),
  inject: { store: Store, clock: Clock, vault: Vault, mailer: Mailer, organizations: Organizations, users: Users },
  async run({ payload: { invitation_id, hash, sealed }, deps, organization: id = "", jobId, signal }) {
    const { store, clock, vault, mailer, organizations, users } = deps
    const invitation = await store.open(MemberInvitationsCollection, id).get(invitation_id)
    const organization = await organizations.byId(id)
    if (!organization || invitation?.hash !== hash || Date.parse(invitation.expires_at) <= clock.now()) return
    const { user_id } = invitation.invited_by
    const inviter = user_id === null ? undefined : await users.get(user_id)
    await mailer.send({
      organization: id,
      category: "notice",
      to: invitation.email,
      heading: `Join ${organization.name}`,
      intro: `${inviter ? inviter.name || inviter.email : organization.name} invites you as ${invitation.role}. The link works once, for seven days, for ${invitation.email} alone.`,
      fields: [{ label: "Unexpected?", value: "Ignore this mail, and pass the link to nobody." }],
      button: { label: `Join ${organization.name}`, url: vault.open(sealed, jobSealContext(jobId)) },
      idempotencyKey: `member invitation ${jobId}`,
      at: invitation.sent_at,
      signal,
    })
  },
})
