// Management of one organization by another: offered by invitation, accepted by an owner, adopted by an owner of both, and ended
// by either side. The end, including the manager's keys, reaches every node before the response.
import { randomBytes } from "node:crypto"
import { AppError, Clock, type Deps, derivedUuid, Store, timestamp, type UnitOfWork } from "#core"
import type { Role } from "#core/engine"
import { hashKey } from "../identity/index.ts"
import { ApiKeys } from "./api-keys.ts"
import {
  type Invitation,
  InvitationsCollection,
  KeysCollection,
  type Organization,
  OrganizationsCollection,
  type StoredKey,
} from "./collections.ts"
import { Organizations } from "./directory.ts"

const codePrefix = "mr_invite_"
const invitationMs = 14 * 86_400_000

export class Management {
  static readonly inject = { store: Store, clock: Clock, organizations: Organizations, keys: ApiKeys }
  readonly #deps: Deps<typeof Management.inject>

  constructor(deps: Deps<typeof Management.inject>) {
    this.#deps = deps
  }

  /** Stages an invitation. The code is shown once and never stored. */
  invite(work: UnitOfWork, manager: string, input: Pick<Invitation, "role" | "note">): { invitation: Invitation; code: string } {
    const code = `${codePrefix}${randomBytes(24).toString("base64url")}`
    const now = this.#deps.clock.now()
    const invitation: Invitation = {
      ...input,
      id: invitationId(code),
      manager_id: manager,
      created_at: timestamp(now),
      expires_at: timestamp(now + invitationMs),
    }
    work.in(InvitationsCollection).insert(invitation)
    return { invitation, code }
  }

  /** Returns an invitation of this manager. Throws `not_found` for another manager's invitation too. */
  async invitation(manager: string, id: string): Promise<Invitation> {
    return this.#valid(await this.#deps.store.open(InvitationsCollection).get(id), (invitation) => invitation.manager_id === manager)
  }

  /** Stages the management by the invitation's terms, and consumes the invitation. */
  async accept(work: UnitOfWork, organization: Organization, code: string): Promise<{ manager: Organization; role: Role; at: string }> {
    const match = await this.#deps.store.open(InvitationsCollection).get(invitationId(code))
    const { id, manager_id, role } = this.#valid(match, () => true)
    const manager = await this.#deps.organizations.byId(manager_id)
    if (!manager) throw noInvitation()
    const at = this.link(work, manager, organization, role)
    work.in(InvitationsCollection).remove(id)
    return { manager, role, at }
  }

  /**
   * Stages the management of one organization by another. Returns the start time. Throws `failed_precondition` if the
   * organization is already managed, or if both would manage each other.
   */
  link(work: UnitOfWork, manager: Organization, managed: Organization, role: Role): string {
    const problem =
      manager.id === managed.id
        ? "An organization cannot manage itself."
        : managed.managed_by !== null
          ? `The organization "${managed.slug}" is managed already; end that first.`
          : manager.managed_by?.id === managed.id
            ? `The organization "${managed.slug}" manages this one; they cannot manage each other.`
            : undefined
    if (problem !== undefined) throw new AppError("failed_precondition", problem, { reason: "already_managed" })
    this.#deps.organizations.setManager(work, managed.id, { id: manager.id, role }, null)
    return timestamp(this.#deps.clock.now())
  }

  /** Stages the end of the link, and of all keys and sessions created through the manager's credentials. */
  async end(work: UnitOfWork, managed: Organization, manager: string): Promise<void> {
    const { store, keys, organizations } = this.#deps
    // Reads the stored state before the keys. A key created in between makes this commit repeat.
    const before = (await store.open(OrganizationsCollection).get(managed.id))?.managed_by
    if (before?.id === manager) organizations.setManager(work, managed.id, null, before)
    for (const key of await this.#descendants(managed.id, manager)) keys.revoke(work, managed.id, key)
  }

  /**
   * Returns the valid keys created by the manager, directly or through other keys. Keys of earlier versions store only their
   * maker.
   */
  async #descendants(managed: string, manager: string): Promise<StoredKey[]> {
    const keys = new Map<string, StoredKey>()
    for await (const key of this.#deps.store.open(KeysCollection, managed).stream({})) keys.set(key.id, key)
    const descends = (key: StoredKey | undefined): boolean =>
      key !== undefined && (key.manager_id === manager || descends(keys.get(key.created_by ?? "")))
    return [...keys.values()].filter((key) => key.revoked_at === null && descends(key))
  }

  #valid(document: Invitation | undefined, fits: (invitation: Invitation) => boolean): Invitation {
    if (document && fits(document) && Date.parse(document.expires_at) > this.#deps.clock.now()) return document
    throw noInvitation()
  }
}

function noInvitation(): AppError {
  const message = "This invitation does not exist: it was accepted, revoked, or has expired. Ask the manager for another."
  return new AppError("not_found", message, { reason: "invitation_not_found" })
}

function invitationId(code: string): string {
  return derivedUuid("management invitation", hashKey(code))
}
