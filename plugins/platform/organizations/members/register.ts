// Declares what members need: their collections, operations, jobs and services.
import { z } from "zod"
import { CacheInvalidation, Clock, Ids, injected, JobQueue, PublicUrl, RateLimiter, type Registrar, Settings, Store, Vault } from "#core"
import { Pauses } from "#core/engine"
import { Mailer } from "../../../people/email/index.ts"
import { UserSessions, Users } from "../../identity/index.ts"
import { ApiKeys } from "../api-keys.ts"
import { Organizations } from "../directory.ts"
import { endMembershipsOfDeleted } from "./deleted-users.ts"
import { type DepartureHook, Departures } from "./departures.ts"
import { InvitationDaysCollection, InvitedAddressesCollection, MemberInvitationsCollection } from "./invitations/collections.ts"
import { Invitations, InvitationsToken } from "./invitations/invitations.ts"
import { Joining, JoiningToken } from "./invitations/joining.ts"
import { invitationMail } from "./invitations/mail.ts"
import { Members, MembersToken } from "./members.ts"
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
import { Ownership, OwnershipOffersCollection, OwnershipToken } from "./ownership.ts"

export const memberSettings = {
  max_invitations_per_day: z
    .int()
    .min(0)
    .max(100_000)
    .default(100)
    .describe("Invitations of members that one organization mails in a day (UTC), repeated ones included."),
}

/** Revokes the invitations of a person who leaves. */
export const inviterDeparture = injected(
  { invitations: InvitationsToken },
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
  reg.provide(MembersToken, {
    inject: {
      store: Store,
      invalidation: CacheInvalidation,
      keys: ApiKeys,
      departures: Departures,
      users: Users,
      sessions: UserSessions,
    },
    create: (deps) => new Members(deps),
  })
  reg.provide(OwnershipToken, {
    inject: { store: Store, clock: Clock, members: MembersToken },
    create: (deps) => new Ownership(deps),
  })
  reg.provide(InvitationsToken, {
    inject: {
      store: Store,
      clock: Clock,
      queue: JobQueue,
      vault: Vault,
      publicUrl: PublicUrl,
      mailer: Mailer,
      users: Users,
      members: MembersToken,
    },
    create: (deps) => new Invitations({ ...deps, maxPerDay: settings.max_invitations_per_day }),
  })
  reg.run("memberships of deleted users", {
    inject: { users: Users, members: MembersToken, organizations: Organizations },
    create: endMembershipsOfDeleted,
  })
  reg.provide(JoiningToken, {
    inject: {
      settings: Settings,
      store: Store,
      clock: Clock,
      ids: Ids,
      limiter: RateLimiter,
      invalidation: CacheInvalidation,
      users: Users,
      organizations: Organizations,
      members: MembersToken,
      pauses: Pauses,
    },
    create: (deps) => new Joining({ ...deps, auditDays: deps.settings.retention.audit_days }),
  })
}
