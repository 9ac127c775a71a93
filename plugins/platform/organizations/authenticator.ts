// Converts a bearer credential to a caller. Keys are cached: a call costs one hash and no read. A change on any node drops the
// cached key, so a revocation is effective before its response.
import { type AnyCaller, AppError, allKeys, type CacheInvalidation, type Caller, type Clock, type Store, sameBytes } from "#core"
import {
  type Authenticator,
  type Credentials,
  credentialsTopic,
  GenerationCache,
  isOperatorCredential,
  readOperatorCredential,
} from "#core/engine"
import { hashKey, type KeyText, type LastUse, parseKey, textKind, type UserSession, type UserSessions } from "../identity/index.ts"
import { KeyOwnersCollection, KeysCollection, type StoredKey } from "./collections.ts"
import { type Organizations, refuseOrganization, toReference } from "./directory.ts"
import { linkOf, managerOf, personalReach, reach, type StoredCredential } from "./reach.ts"

interface AuthenticatorDeps {
  readonly store: Store
  readonly invalidation: CacheInvalidation
  readonly clock: Clock
  readonly organizations: Organizations
  readonly use: LastUse
  readonly sessions: UserSessions
  /** `Vault.keyFor(operatorPurpose)`. */
  readonly operatorKey: Buffer
  /** Maximum idle time of a session opened with a key, in milliseconds. */
  readonly idleMs: number
}

const noHash = "0".repeat(64)

export function createAuthenticator({
  store,
  invalidation,
  clock,
  organizations,
  use,
  sessions,
  operatorKey,
  idleMs,
}: AuthenticatorDeps): Authenticator {
  const cache = new GenerationCache<StoredCredential>(10_000)
  invalidation.onChange(credentialsTopic, (key) => (key === allKeys ? cache.clear() : cache.drop(key)))

  const find = (keyId: string) =>
    cache.load(keyId, async () => {
      const owner = await store.open(KeyOwnersCollection).get(keyId)
      if (!owner) return undefined
      const key = await store.open(KeysCollection, owner.owner_id).get(owner.stored_key_id)
      return key && { key, owner: owner.owner_id }
    })

  /** Returns the stored key of a verified text. An unknown key and a wrong secret give the same error. */
  async function prove(text: KeyText): Promise<StoredCredential> {
    const match = await find(text.keyId)
    const isSame = sameBytes(hashKey(text.text), match?.key.hash ?? noHash)
    if (!match || !isSame || textKind(match.key.kind) !== text.kind) {
      throw unauthenticatedError("unknown_credential", "This key is unknown. Create one with POST /v1/api-keys, or ask an admin.")
    }
    refuseEnded(match.key)
    return match.key.kind === "session" ? await proveSession(match) : match
  }

  function refuseEnded({ kind, revoked_at, expires_at }: StoredKey): void {
    const [credential, next] = kind === "session" ? ["session", "sign in again"] : ["key", "use another"]
    if (revoked_at !== null) throw unauthenticatedError("credential_revoked", `This ${credential} was revoked at ${revoked_at}; ${next}.`)
    if (expires_at === null || Date.parse(expires_at) > clock.now()) return
    throw unauthenticatedError("credential_expired", `This ${credential} expired at ${expires_at}; ${next}.`)
  }

  /** A session ends with the key used for its sign-in, and after a time without use on all nodes. */
  async function proveSession(session: StoredCredential): Promise<StoredCredential> {
    const parent = await find(session.key.signed_in_with ?? "")
    if (!parent) throw unauthenticatedError("credential_revoked", "The key that signed in does not exist any more; sign in again.")
    refuseEnded(parent.key)
    if (!isIdle(session.key)) return session
    cache.drop(session.key.key_id)
    const now = await find(session.key.key_id)
    if (now && !isIdle(now.key)) return now
    throw unauthenticatedError("credential_expired", "Nothing was done with this session for too long; sign in again.")
  }

  /** Returns the kind of the key behind a session. */
  async function openerOf({ signed_in_with }: StoredKey): Promise<Pick<Caller["credential"], "opened_with">> {
    const kind = signed_in_with === undefined ? undefined : (await find(signed_in_with))?.key.kind
    return kind === undefined || kind === "session" ? {} : { opened_with: kind }
  }

  const isIdle = (key: StoredKey) => clock.now() - use.last(key) >= idleMs

  /**
   * Returns the caller of an interactive session: the member of the selected organization, or of its manager. A session never
   * moves to another organization by itself. After the loss of its organization it acts without an organization.
   */
  async function personOf(session: UserSession, credentials: Credentials): Promise<AnyCaller> {
    const user = await organizations.user(session.user_id)
    if (!user) throw unauthenticatedError("credential_revoked", "The account of this session was deleted; sign in with another.")
    const reference = credentials.organization || session.acts_in || user.organization_ids[0]
    const organization = reference === undefined ? undefined : await organizations.find(reference)
    const membership = organization && (await personalReach(organizations, user.id, organization))
    if (!membership && credentials.organization) outOfReach(credentials.organization, "session")
    sessions.note(session)
    const { surface, requestId, log } = credentials
    const person = {
      scopes: undefined,
      credential: { id: session.id, kind: "session", manager: false, expires_at: session.expires_at },
      user: { id: user.id, email: user.email, staff: user.staff },
      signIn: sessions.signInOf(session),
      surface,
      requestId,
    } as const
    if (!membership) return { ...person, log: log.child({ credential: session.id }) }
    const { role, manager } = membership
    const link = manager && linkOf(organization, manager.id)
    return {
      ...person,
      organization: toReference(organization),
      role,
      ...(manager ? { manager: toReference(manager) } : {}),
      ...(link ? { link } : {}),
      log: log.child({ organization: organization.slug, credential: session.id }),
    }
  }

  /** Returns the caller of a key, or of a session opened with a key. */
  async function keyHolder(text: KeyText, credentials: Credentials): Promise<Caller> {
    const holder = await prove(text)
    const { key, owner } = holder
    const reference = credentials.organization || owner
    const organization = await organizations.find(reference)
    const role = organization && (await reach(organizations, holder, organization))
    if (!organization || !role) {
      if (reference === owner)
        throw unauthenticatedError("owner_not_a_member", "The key's owner is not a member of its organization; use another key.")
      outOfReach(reference, "key")
    }
    const manager = await managerOf(organizations, holder, organization)
    const link = linkOf(organization, manager?.id ?? key.manager_id)
    if (link === undefined)
      throw unauthenticatedError("credential_revoked", "The management that this key depends on has ended; use another.")
    const user = key.user_id === null ? undefined : await organizations.user(key.user_id)
    use.note(key, (work, fields) => work.in(KeysCollection, owner).update(key.id, { $set: fields }, { optional: true }))
    return {
      organization: toReference(organization),
      role,
      ...(manager ? { manager } : {}),
      ...(link ? { link } : {}),
      // Every key may read its own identity.
      scopes: key.scopes ? new Set([...key.scopes, "me:read"]) : undefined,
      credential: { id: key.id, kind: key.kind, manager: key.manager, expires_at: key.expires_at, ...(await openerOf(key)) },
      user: user && { id: user.id, email: user.email, staff: user.staff },
      surface: credentials.surface,
      requestId: credentials.requestId,
      log: credentials.log.child({ organization: organization.slug, credential: key.id }),
    }
  }

  /** The operator acts in the service's own organization. */
  async function operatorOf(bearer: string, { surface, requestId, log }: Credentials): Promise<Caller> {
    const operator = readOperatorCredential(operatorKey, bearer, clock.now())
    if (operator === undefined)
      throw unauthenticatedError("unknown_credential", "This operator's credential has another master key, or is older than a minute.")
    const organization = toReference(await organizations.first())
    const credential = { id: "operator", kind: "internal", manager: false } as const
    return { organization, role: "owner", scopes: undefined, credential, user: undefined, operator, surface, requestId, log }
  }

  return {
    async authenticate(credentials: Credentials): Promise<AnyCaller> {
      invalidation.assertLease()
      if (isOperatorCredential(credentials.bearer)) return await operatorOf(credentials.bearer, credentials)
      const text = readBearer(credentials.bearer)
      const session = text.kind === "session" ? await sessions.prove(text) : undefined
      if (session) return await personOf(session, credentials)
      return await keyHolder(text, credentials)
    },
  }
}

function outOfReach(reference: string, credential: "key" | "session"): never {
  return refuseOrganization(`X-Organization-ID: the organization "${reference}" does not exist, or this ${credential} cannot act in it.`)
}

function readBearer(bearer: string | undefined): KeyText {
  if (!bearer) {
    throw unauthenticatedError(
      "missing_credential",
      "This operation needs a key. Send it as `Authorization: Bearer mr_api_...` (or a scoped mr_token_...).",
    )
  }
  const parsed = parseKey(bearer)
  if (parsed === "malformed") {
    throw unauthenticatedError(
      "malformed_credential",
      "The key is not one of this service: a key starts with mr_api_ or mr_token_ and has 62 or 64 characters.",
    )
  }
  if (parsed === "mistyped") {
    throw unauthenticatedError(
      "credential_checksum_mismatch",
      "This key has a typing error: its checksum does not match. Copy the whole key again.",
    )
  }
  return parsed
}

type Refusal =
  | "credential_checksum_mismatch"
  | "credential_expired"
  | "credential_revoked"
  | "malformed_credential"
  | "missing_credential"
  | "owner_not_a_member"
  | "unknown_credential"

function unauthenticatedError(reason: Refusal, message: string): AppError {
  return new AppError("unauthenticated", message, { reason })
}
