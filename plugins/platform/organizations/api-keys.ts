// Creates, finds, lists and revokes keys. Only the hash of a key is stored. The key itself appears once, in the response of its
// creation.
import { AppError, type CacheInvalidation, type Clock, type Ids, isUuid, type Store, timestamp, token, type UnitOfWork } from "#core"
import { credentialsTopic, type Role } from "#core/engine"
import { generateKey, hashKey, type KeyKind, type KeyText, type UserSessions } from "../identity/index.ts"
import { KeyOwnersCollection, KeysCollection, type Organization, type StoredKey } from "./collections.ts"
import type { Organizations } from "./directory.ts"
import { type Author, type Origins, originsOf, originsOfNew, type Party } from "./origins.ts"
import { keyWithin, personalReach, reach } from "./reach.ts"

export interface NewKey {
  readonly name: string
  readonly kind: KeyKind
  readonly role: Role
  /** Scopes of a token; null for an API key. */
  readonly scopes: readonly string[] | null
  readonly manager?: boolean
  /** Maker; null for a service principal. */
  readonly user: string | null
  /** The managing organization behind the maker's credential. */
  readonly managerId?: string | undefined
  /** Id of the creating credential. */
  readonly createdBy?: string
  /** Origins of the creating credential. */
  readonly origins?: Origins
  /** RFC 3339. */
  readonly expiresAt?: string | null
  /** For a session: public part of the key used for the sign-in. */
  readonly signedInWith?: string
}

/** The highest role of a key, or the reason for its loss of rights. */
export type CurrentReach = { readonly role: Role } | { readonly role: undefined; readonly lost: string }

export interface ApiKeys {
  /** Stages a key. `text` is shown to its maker and never stored. `presetKey`: use this key instead of a random one. */
  mint(work: UnitOfWork, organization: string, request: NewKey, presetKey?: KeyText): { stored: StoredKey; text: string }
  /** Finds a key by id or public part. Throws `not_found` for another organization's key too. */
  get(organization: string, id: string): Promise<StoredKey>
  /** Returns the current rights of a credential in the organization. Ignores its expiry, because its request came in time. */
  currentReach(organization: string, author: Author): Promise<CurrentReach>
  /** Returns the key behind a credential. For a session: the key used for the sign-in. Undefined for an unknown credential. */
  keyBehind(organization: string, id: string): Promise<string | undefined>
  /** Returns the first credential, the users and the managers in the ancestry of a credential. */
  origins(organization: string, party: Party): Promise<Origins>
  /** Stages the end of a key. It is effective on every node before the call's response. A repeated call changes no data. */
  revoke(work: UnitOfWork, organization: string, key: StoredKey): StoredKey
}

export const ApiKeys = token<ApiKeys>("ApiKeys")

interface ApiKeysDeps {
  readonly store: Store
  readonly invalidation: CacheInvalidation
  readonly clock: Clock
  readonly ids: Ids
  readonly organizations: Organizations
  readonly sessions: UserSessions
}

export function createApiKeys({ store, invalidation, clock, ids, organizations, sessions }: ApiKeysDeps): ApiKeys {
  /** A signed-out session keeps its requests. A session ended from elsewhere loses them. */
  async function standingOfSession(id: string, organization: Organization): Promise<CurrentReach | undefined> {
    const session = await sessions.get(id)
    if (!session) return undefined
    if (session.end === "ended") return { role: undefined, lost: `The session that asked for it was ended at ${session.revoked_at}.` }
    const sessionReach = await personalReach(organizations, session.user_id, organization)
    return sessionReach ?? { role: undefined, lost: "The person who asked for it is not a member any longer." }
  }

  /** A session ends with the key used for its sign-in. */
  async function revokedAt(organization: Organization, { kind, created_by, revoked_at }: StoredKey): Promise<string | undefined> {
    if (revoked_at !== null) return revoked_at
    const opener = kind === "session" && created_by !== null ? await keyWithin(store, organization, created_by) : undefined
    return opener?.key.revoked_at ?? undefined
  }

  return {
    mint(work, organization, request, presetKey = generateKey(request.kind)) {
      const owner = { id: ids.uuid(), user_id: request.user, manager_id: request.managerId ?? null }
      const document: StoredKey = {
        ...owner,
        kind: request.kind,
        key_id: presetKey.keyId,
        hash: hashKey(presetKey.text),
        name: request.name,
        role: request.role,
        scopes: request.scopes ? [...request.scopes] : null,
        manager: request.manager ?? false,
        created_by: request.createdBy ?? null,
        ...(request.signedInWith === undefined ? {} : { signed_in_with: request.signedInWith }),
        ...(request.createdBy === undefined || request.origins ? { origins: originsOfNew(owner, request.origins ?? []) } : {}),
        created_at: timestamp(clock.now()),
        expires_at: request.expiresAt ?? null,
        last_used_at: null,
        revoked_at: null,
      }
      work.in(KeysCollection, organization).insert(document)
      work.in(KeyOwnersCollection).insert({ id: presetKey.keyId, owner_id: organization, stored_key_id: document.id })
      return { stored: document, text: presetKey.text }
    },
    async get(organization, id) {
      const keys = store.open(KeysCollection, organization)
      // Only UUIDs ignore case.
      const uuid = id.toLowerCase()
      const match = isUuid(uuid) ? await keys.get(uuid) : await keys.first({ key_id: id })
      if (match) return match
      throw new AppError("not_found", `This organization has no key "${id}".`, { reason: "key_not_found" })
    },
    async currentReach(id, { credential_id, user_id }) {
      const organization = await organizations.byId(id)
      const match = organization && (await keyWithin(store, organization, credential_id))
      if (organization && match) {
        const revoked = await revokedAt(organization, match.key)
        if (revoked !== undefined) return { role: undefined, lost: `The key that asked for it was revoked at ${revoked}.` }
        const role = await reach(organizations, match, organization)
        return role ? { role } : { role: undefined, lost: "The member whose key asked for it is not a member any longer." }
      }
      const session = organization && (await standingOfSession(credential_id, organization))
      if (session) return session
      const personal = organization && user_id !== null ? await personalReach(organizations, user_id, organization) : undefined
      return personal ?? { role: undefined, lost: "The key that asked for it has no access to the organization any longer." }
    },
    async keyBehind(id, credential) {
      const organization = await organizations.byId(id)
      const key = organization && (await keyWithin(store, organization, credential))?.key
      if (key) return (key.kind === "session" && key.created_by) || key.id
      return (await sessions.get(credential))?.id
    },
    origins: (id, party) => originsOf({ store, organizations }, id, party),
    revoke(work, organization, key) {
      const revoked_at = key.revoked_at ?? timestamp(clock.now())
      const keys = work.in(KeysCollection, organization)
      if (key.revoked_at === null) keys.update(key.id, { $set: { revoked_at } }, { where: { revoked_at: null }, optional: true })
      // Also runs for an already revoked key: the revoking call may still wait for other nodes.
      invalidation.announce(work, credentialsTopic, key.key_id, { settled: true })
      return { ...key, revoked_at }
    },
  }
}
