// The mail of an invitation. A code that was replaced, used or revoked meanwhile is not mailed.
import { z } from "zod"
import { Clock, defineJob, type Sealed, Store, Vault } from "#core"
import { jobSealContext } from "#core/engine"
import { Mailer } from "../../../../people/email/index.ts"
import { Users } from "../../../identity/index.ts"
import { Organizations } from "../../directory.ts"
import { MemberInvitationsCollection } from "./collections.ts"

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
