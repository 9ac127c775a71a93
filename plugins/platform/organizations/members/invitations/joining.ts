// Joining by an invitation: the invitation, the membership, a new user and the audit record in one commit. Concurrent attempts
// with one code conflict, so only one person joins.
import {
  AppError,
  CacheInvalidation,
  Clock,
  type Deps,
  Ids,
  RateLimiter,
  Settings,
  Store,
  sameBytes,
  timestamp,
  type UnitOfWork,
} from "#core"
import { AuditLog, Pauses, rateLimitWindowSeconds as windowSeconds } from "#core/engine"
import { type User, Users } from "../../../identity/index.ts"
import { MembershipsCollection, type Organization } from "../../collections.ts"
import { membershipId, Organizations, organizationsTopic } from "../../directory.ts"
import { Members } from "../members.ts"
import { parseCode } from "./code.ts"
import { InvitedAddressesCollection, type MemberInvitation, MemberInvitationsCollection } from "./collections.ts"

/** A valid code: its invitation and organization. */
export interface OpenInvitation {
  readonly invitation: MemberInvitation
  readonly organization: Organization
}

/** The joining person's proof of the address. */
export interface Proof {
  /** False for a scoped token of a program. */
  readonly isPerson: boolean
  /** The person signed in by mail, a passkey or OpenID Connect. */
  readonly isSignedIn: boolean
}

export interface JoinRecord {
  readonly credentialId: string
  readonly requestId: string
}

/** Wrong codes of one network or credential in a minute. */
const maxWrong = 10
/** Open invitations of an address. */
const maxOpen = 100
const dayMs = 86_400_000

export class Joining {
  static readonly inject = {
    settings: Settings,
    store: Store,
    clock: Clock,
    ids: Ids,
    limiter: RateLimiter,
    invalidation: CacheInvalidation,
    users: Users,
    organizations: Organizations,
    members: Members,
    pauses: Pauses,
  }
  readonly #deps: Deps<typeof Joining.inject>

  constructor(deps: Deps<typeof Joining.inject>) {
    this.#deps = deps
  }

  /** Finds the invitation of a code. Wrong codes count against `guesser`. Throws `not_found`, and `resource_exhausted` after too many. */
  async open(code: string, guesser: string): Promise<OpenInvitation> {
    const match = await this.#find(code)
    if (match) {
      this.#deps.pauses.refuse(match.organization.id)
      return match
    }
    const { allowed } = await this.#deps.limiter.consume([{ id: `member invitation:${guesser}`, limit: maxWrong }])
    if (!allowed) throw tooManyWrong()
    return notFound()
  }

  /** Open invitations of an address, in active organizations. */
  async openFor(email: string): Promise<OpenInvitation[]> {
    const { store, pauses } = this.#deps
    const addresses = await store.open(InvitedAddressesCollection).find({ email }, { limit: maxOpen })
    const invitations = await Promise.all(addresses.map(({ id, owner_id }) => this.#read(owner_id, id)))
    return invitations
      .filter((match) => match?.invitation.email === email && !pauses.has(match.organization.id))
      .flatMap((match) => match ?? [])
  }

  /**
   * Finds an open invitation of the user by its id. Throws `not_found`, and `permission_denied` if no sign-in verified the
   * address.
   */
  async openOwn(id: string, user: User | undefined, { isSignedIn }: Pick<Proof, "isSignedIn">): Promise<OpenInvitation> {
    if (!user || !isSignedIn) throw signInFirst()
    return (await this.openFor(user.email)).find(({ invitation }) => invitation.id === id) ?? notFound()
  }

  /** Returns the user. Throws `not_found` for another person, and `permission_denied` if the address is unverified. */
  requirePerson({ invitation }: OpenInvitation, user: User | undefined, { isPerson, isSignedIn }: Proof): User {
    if (!user || !isPerson) throw signInFirst()
    if (user.email !== invitation.email) {
      const message = "This invitation is not for you: it is for another address. Sign in with the address that received it."
      throw new AppError("not_found", message, { reason: "invitation_for_another" })
    }
    if (invitation.shown && !isSignedIn) throw signInFirst()
    return user
  }

  /** Returns the user of the invitation, or a new user if the link proves the address. Throws if the person must sign in first. */
  async newcomer(work: UnitOfWork, { invitation }: OpenInvitation, name: string): Promise<User> {
    if (invitation.shown || (await this.#deps.users.byEmail(invitation.email))) throw signInFirst()
    return this.#deps.users.add(work, { email: invitation.email, name })
  }

  /** Stages a user for a link without proof. A sign-in code then reaches the address. */
  async addUnproven(work: UnitOfWork, { invitation: { email, shown } }: OpenInvitation, name: string): Promise<void> {
    if (shown && !(await this.#deps.users.byEmail(email))) this.#deps.users.add(work, { email, name })
  }

  /** Stages the membership. Throws `failed_precondition` for a member. */
  async join(work: UnitOfWork, { invitation, organization }: OpenInvitation, user: User, by: JoinRecord): Promise<void> {
    const { members, users, clock, invalidation } = this.#deps
    if (await members.find(organization.id, user.id)) {
      throw new AppError("failed_precondition", `You are a member of "${organization.slug}" already.`, { reason: "already_member" })
    }
    const { id, hash, role } = invitation
    work.in(MemberInvitationsCollection, organization.id).remove(id, { where: { hash } })
    const member = { id: membershipId(organization.id, user.id), user_id: user.id, role, created_at: timestamp(clock.now()) }
    work.in(MembershipsCollection, organization.id).insert(member)
    users.addOrganization(work, user.id, organization.id)
    invalidation.announce(work, organizationsTopic, organization.id, { settled: true })
    this.#audit(work, organization.id, member, by)
  }

  async #find(code: string): Promise<OpenInvitation | undefined> {
    const parsed = parseCode(code)
    const match = parsed && (await this.#read(parsed.organization, parsed.invitation))
    return match && sameBytes(match.invitation.hash, parsed.hash) ? match : undefined
  }

  async #read(organizationId: string, id: string): Promise<OpenInvitation | undefined> {
    const { organizations, store, clock } = this.#deps
    const organization = await organizations.byId(organizationId)
    const invitation = organization && (await store.open(MemberInvitationsCollection, organization.id).get(id))
    return invitation && Date.parse(invitation.expires_at) > clock.now() ? { invitation, organization } : undefined
  }

  /** The call acts in another organization or without one, so this organization gets its own record. */
  #audit(work: UnitOfWork, organization: string, member: { id: string; user_id: string; role: string }, by: JoinRecord): void {
    const { ids, clock, settings } = this.#deps
    const now = clock.now()
    work.in(AuditLog, organization).insert({
      id: ids.uuid(),
      at: timestamp(now),
      actor: { credential_id: by.credentialId, user_id: member.user_id, organization_id: null, surface: "rest" },
      operation: "member_invitations.accept",
      target: {},
      changes: { role: member.role },
      writes: [
        { collection: MembershipsCollection.name, id: member.id, before: null, after: { user_id: member.user_id, role: member.role } },
      ],
      more_writes: 0,
      request_id: by.requestId,
      expires_at: timestamp(now + settings.retention.audit_days * dayMs),
    })
  }
}

function notFound(): never {
  const message = "This invitation does not exist: it was used, replaced or revoked, or has expired. Ask for a new one."
  throw new AppError("not_found", message, { reason: "member_invitation_not_found" })
}

function tooManyWrong(): AppError {
  const message = `More than ${maxWrong} wrong invitation codes in a minute; try again in ${windowSeconds} s.`
  const details = { quota: "invitation codes", limit: maxWrong, window_s: windowSeconds, retry_after_s: windowSeconds }
  return new AppError("resource_exhausted", message, { reason: "rate_limited", ...details }, { retryAfterS: windowSeconds })
}

function signInFirst(): AppError {
  const message = "Sign in with the address that was invited, by a mailed code; then open the invitation again."
  return new AppError("permission_denied", message, { reason: "sign_in_first" })
}
