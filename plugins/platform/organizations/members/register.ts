// Declares the collections, operations, jobs and services of members.
import { z } from "zod"
import { injected, type Registrar } from "#core"
import { endMembershipsOfDeleted, endMembershipsOfDeletedNeeds } from "./deleted-users.ts"
import { InvitationDaysCollection, InvitedAddressesCollection, MemberInvitationsCollection } from "./invitations/collections.ts"
import { Invitations, invitationMail } from "./invitations/invitations.ts"
import { Joining } from "./invitations/joining.ts"
import { type DepartureHook, Members } from "./members.ts"
import {
  acceptInvitation,
  inviteMember,
  listMemberInvitations,
  listOwnInvitations,
  resendInvitation,
  revokeMemberInvitation,
} from "./operations/invitations.ts"
import { acceptOwnership, listOffers, offerOwnership, withdrawOffer } from "./operations/ownership.ts"
import { changeRole, leave, removeMember } from "./operations/people.ts"
import { recoverMember } from "./operations/recovery.ts"
import { Ownership, OwnershipOffersCollection } from "./ownership.ts"

export const memberSettings = {
  max_invitations_per_day: z
    .int()
    .min(0)
    .max(100_000)
    .default(100)
    .describe("Invitations of members that one organization mails in a day (UTC), repeated ones included."),
}

/** Revokes the invitations of a person leaving the organization. */
export const inviterDeparture = injected(
  { invitations: Invitations },
  ({ invitations }): DepartureHook =>
    async (work, { organization, user }) => {
      await invitations.revokeOf(work, organization, user)
      return []
    },
)

export function registerMembers(reg: Registrar, settings: { readonly max_invitations_per_day: number }): void {
  reg.collections(MemberInvitationsCollection, InvitedAddressesCollection, InvitationDaysCollection, OwnershipOffersCollection)
  reg.jobs(invitationMail)
  reg.operations(changeRole, removeMember, leave, recoverMember)
  reg.operations(inviteMember, listMemberInvitations, resendInvitation, revokeMemberInvitation, acceptInvitation, listOwnInvitations)
  reg.operations(offerOwnership, listOffers, withdrawOffer, acceptOwnership)
  reg.provide(Members)
  reg.provide(Ownership)
  reg.provide(Invitations, { create: (deps) => new Invitations({ ...deps, maxPerDay: settings.max_invitations_per_day }) })
  reg.run("memberships of deleted users", { inject: endMembershipsOfDeletedNeeds, create: endMembershipsOfDeleted })
  reg.provide(Joining)
}
