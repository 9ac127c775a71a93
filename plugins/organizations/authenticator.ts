// From a bearer credential to a caller. Found keys are kept in memory and dropped when they change anywhere, so that a
// call costs one hash and no read, and a revocation holds when the call that asked for it is answered.
import { AppError, allKeys, type CacheInvalidation, type Caller, type Clock, roleAtLeast, type Store, sameBytes } from "#core"
import { type Authenticator, type Credentials, credentialsTopic, type ManagementLink, type Role } from "#core/engine"
import { KeyOwnersCollection, KeysCollection, type Organization, type StoredKey } from "./collections.ts"
import type { Organizations } from "./directory.ts"
import { GenerationCache } from "./generation-cache.ts"
import { hashKey, type KeyText, parseKey } from "./key-format.ts"
import type { KeyUse } from "./key-use.ts"

interface KnownKey {
  readonly key: StoredKey
  readonly owner: string
}

interface AuthenticatorDeps {
  readonly store: Store
  readonly invalidation: CacheInvalidation
  readonly clock: Clock
  readonly organizations: Organizations
  readonly use: KeyUse
  /** After which a session that is not used ends. */
  readonly idleMs: number
}

const noHash = "0".repeat(64)

export function createAuthenticator({ store, invalidation, clock, organizations, use, idleMs }: AuthenticatorDeps): Authenticator {
  const known = new GenerationCache<KnownKey>(10_000)
  invalidation.onChange(credentialsTopic, (key) => (key === allKeys ? known.clear() : known.drop(key)))

  const find = (keyId: string) =>
    known.load(keyId, async () => {
      const owner = await store.open(KeyOwnersCollection).get(keyId)
      if (!owner) return undefined
      const key = await store.open(KeysCollection, owner.owner_id).get(owner.stored_key_id)
      return key && { key, owner: owner.owner_id }
    })

  /** The key as stored, once the text is proven to be it. An unknown key and a wrong secret are told alike. */
  async function prove(text: KeyText): Promise<KnownKey> {
    const found = await find(text.keyId)
    const same = sameBytes(hashKey(text.text), found?.key.hash ?? noHash)
    if (!found || !same || found.key.kind !== text.kind) {
      throw unauthenticated("unknown_credential", "This key is unknown. Create one with POST /v1/api-keys, or ask an admin.")
    }
    refuseEnded(found.key)
    return found.key.kind === "session" ? await proveSession(found) : found
  }

  function refuseEnded({ kind, revoked_at, expires_at }: StoredKey): void {
    const [what, next] = kind === "session" ? ["session", "sign in again"] : ["key", "use another"]
    if (revoked_at !== null) throw unauthenticated("credential_revoked", `This ${what} was revoked at ${revoked_at}; ${next}.`)
    if (expires_at === null || Date.parse(expires_at) > clock.now()) return
    throw unauthenticated("credential_expired", `This ${what} expired at ${expires_at}; ${next}.`)
  }

  /** A session ends with the key that signed in, and when nothing was done with it for a while, on any node. */
  async function proveSession(found: KnownKey): Promise<KnownKey> {
    const parent = await find(found.key.signed_in_with ?? "")
    if (!parent) throw unauthenticated("credential_revoked", "The key that signed in does not exist any more; sign in again.")
    refuseEnded(parent.key)
    if (!isIdle(found.key)) return found
    known.drop(found.key.key_id)
    const now = await find(found.key.key_id)
    if (now && !isIdle(now.key)) return now
    throw unauthenticated("credential_expired", "Nothing was done with this session for too long; sign in again.")
  }

  const isIdle = (key: StoredKey) => clock.now() - use.last(key) >= idleMs

  return {
    async authenticate(credentials: Credentials): Promise<Caller> {
      invalidation.assertLease()
      const one = await prove(readBearer(credentials.bearer))
      const { key, owner } = one
      const wanted = credentials.organization || owner
      const organization = await organizations.find(wanted)
      const role = organization && (await reach(organizations, one, organization))
      if (!organization || !role) {
        if (wanted === owner)
          throw unauthenticated("owner_not_a_member", "The key's owner is not a member of its organization; use another key.")
        throw new AppError("not_found", `X-Organization-ID: the organization "${wanted}" does not exist, or this key cannot act in it.`, {
          reason: "organization_not_accessible",
        })
      }
      const manager = await managerOf(organizations, one, organization)
      const link = linkOf(organization, manager?.id ?? key.manager_id)
      if (link === undefined) throw unauthenticated("credential_revoked", "The management that this key depends on has ended; use another.")
      const user = key.user_id === null ? undefined : await organizations.user(key.user_id)
      use.note(owner, key)
      return {
        organization: { id: organization.id, slug: organization.slug, name: organization.name },
        role,
        ...(manager ? { manager } : {}),
        ...(link ? { link } : {}),
        // Every key may ask who it is.
        scopes: key.scopes ? new Set([...key.scopes, "me:read"]) : undefined,
        credential: { id: key.id, kind: key.kind, manager: key.manager, expires_at: key.expires_at },
        user: user && { id: user.id, email: user.email, staff: user.staff },
        surface: credentials.surface,
        requestId: credentials.requestId,
        log: credentials.log.child({ organization: organization.slug, credential: key.id }),
      }
    },
  }
}

/** The key's own organization, where the key acts in the other one only as its manager. */
async function managerOf(
  organizations: Organizations,
  { key, owner }: KnownKey,
  organization: Organization,
): Promise<NonNullable<Caller["manager"]> | undefined> {
  if (organization.id === owner) return undefined
  if (key.user_id !== null && (await organizations.membership(organization.id, key.user_id))) return undefined
  const found = await organizations.byId(owner)
  return found && { id: found.id, slug: found.slug, name: found.name }
}

/** The link to a manager: null if the credential depends on none, undefined if the link has ended. */
function linkOf({ managed_by }: Organization, manager: string | null): ManagementLink | null | undefined {
  if (manager === null) return null
  return managed_by?.id === manager ? { manager_id: manager, since: managed_by.since } : undefined
}

/** What the key's maker, or a service principal, may do in the organization at most; undefined: it is out of reach. */
export async function reach(organizations: Organizations, { key, owner }: KnownKey, organization: Organization): Promise<Role | undefined> {
  if (organization.id === owner && key.user_id === null) return key.role
  const membership = key.user_id === null ? undefined : await organizations.membership(organization.id, key.user_id)
  if (membership) return lesser(key.role, membership.role)
  if (organization.managed_by?.id !== owner) return undefined
  if (key.user_id === null) return key.manager ? lesser(key.role, organization.managed_by.role) : undefined
  const home = (await organizations.membership(owner, key.user_id))?.role
  return home && lesser(lesser(key.role, home), organization.managed_by.role)
}

function readBearer(bearer: string | undefined): KeyText {
  if (!bearer) {
    throw unauthenticated(
      "missing_credential",
      "This operation needs a key. Send it as `Authorization: Bearer mr_api_...` (or a scoped mr_token_...).",
    )
  }
  const parsed = parseKey(bearer)
  if (parsed === "malformed") {
    throw unauthenticated(
      "malformed_credential",
      "The key is not one of this service: a key starts with mr_api_ or mr_token_ and has 62 or 64 characters.",
    )
  }
  if (parsed === "mistyped") {
    throw unauthenticated(
      "credential_checksum_mismatch",
      "This key has a typing error: its checksum does not match. Copy the whole key again.",
    )
  }
  return parsed
}

function lesser(a: Role, b: Role): Role {
  return roleAtLeast(a, b) ? b : a
}

type Refusal =
  | "credential_checksum_mismatch"
  | "credential_expired"
  | "credential_revoked"
  | "malformed_credential"
  | "missing_credential"
  | "owner_not_a_member"
  | "unknown_credential"

function unauthenticated(reason: Refusal, message: string): AppError {
  return new AppError("unauthenticated", message, { reason })
}
