// Viewers of pages: short-lived signed tokens (JWT, EdDSA) with the organization, and optionally page, visitor and variant. All
// nodes share one signing key, stored sealed.
import { createHash } from "node:crypto"
import { CompactSign, type CryptoKey, errors, exportJWK, generateKeyPair, importJWK, jwtVerify } from "jose"
import { AppError, type Caller, Clock, type Deps, Ids, Store, timestamp, token, UnitsOfWork, Vault } from "#core"
import type { ManagementLink } from "#core/engine"
import { type SigningKey, SigningKeysCollection, signingKeyContext } from "./collections.ts"
import { Organizations } from "./directory.ts"

export interface ViewerClaims {
  readonly organization_id: string
  readonly artifact_id?: string
  readonly visitor_id?: string
  readonly variant?: string
  /** The management link of the token. The token ends with the link. */
  readonly link?: ManagementLink
  /** The membership of the token. The token ends with the membership. */
  readonly member?: MemberLink
}

export interface ViewerSessions {
  mint(claims: ViewerClaims, ttlS: number): Promise<{ token: string; expires_at: string }>
  /** Never throws for an invalid token. The caller checks the claims against the endpoint. */
  verify(token: string): Promise<ViewerClaims | { error: "expired" | "invalid" }>
}

export const ViewerSessions = token<ViewerSessions>("ViewerSessions")

export const viewerSessionsNeeds = { store: Store, works: UnitsOfWork, vault: Vault, clock: Clock, ids: Ids, organizations: Organizations }

const issuer = "millrace"
const audience = "viewer"
const keyId = "viewer-sessions"
const verifiedLimit = 5_000
type KeyPair = { readonly kid: string; readonly sign: CryptoKey; readonly check: CryptoKey }

export function createViewerSessions(deps: Deps<typeof viewerSessionsNeeds>): ViewerSessions {
  const { clock, ids, organizations } = deps
  const resolveClaims = async (claims: ViewerClaims) => {
    const { organization_id, link, member } = claims
    const isLinked = !link || (await organizations.isCurrentLink(organization_id, link))
    return isLinked && (!member || (await isStillMember(organizations, member))) ? claims : ({ error: "invalid" } as const)
  }
  let loading: Promise<KeyPair> | undefined
  const keys = () => {
    loading ??= loadKeys(deps).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
  /** A page sends several events with one token. One check of its signature is enough. */
  const verified = new Map<string, { claims: ViewerClaims; expires: number }>()

  return {
    async mint(claims, ttlS) {
      const { kid, sign } = await keys()
      const iat = Math.floor(clock.now() / 1_000)
      const exp = iat + ttlS
      const payload = { iss: issuer, aud: audience, jti: ids.uuid(), iat, exp, ...claims }
      const signed = new CompactSign(Buffer.from(JSON.stringify(payload))).setProtectedHeader({ alg: "EdDSA", kid, typ: "JWT" })
      return { token: await signed.sign(sign), expires_at: timestamp(exp * 1_000) }
    },
    async verify(text) {
      const digest = createHash("sha256").update(text).digest("base64")
      const cached = verified.get(digest)
      if (cached) return clock.now() < cached.expires ? resolveClaims(cached.claims) : { error: "expired" }
      const { check } = await keys()
      try {
        const options = { issuer, audience, algorithms: ["EdDSA"], currentDate: new Date(clock.now()), requiredClaims: ["exp", "jti"] }
        const { payload } = await jwtVerify(text, check, options)
        const claims = readClaims(payload)
        if (!claims) return { error: "invalid" }
        if (verified.size >= verifiedLimit) verified.clear()
        verified.set(digest, { claims, expires: Number(payload.exp) * 1_000 })
        return await resolveClaims(claims)
      } catch (error) {
        if (error instanceof errors.JOSEError) return { error: error instanceof errors.JWTExpired ? "expired" : "invalid" }
        throw error
      }
    },
  }
}

function readClaims(payload: Record<string, unknown>): ViewerClaims | undefined {
  const { organization_id, link, member } = payload
  if (typeof organization_id !== "string") return undefined
  const optional = ["artifact_id", "visitor_id", "variant"].filter((name) => typeof payload[name] === "string")
  const claims = Object.fromEntries(optional.map((name) => [name, payload[name]]))
  return {
    organization_id,
    ...claims,
    ...(link === undefined ? {} : { link: link as ManagementLink }),
    ...(member === undefined ? {} : { member: member as MemberLink }),
  }
}

async function loadKeys({ store, works, vault, clock }: Deps<typeof viewerSessionsNeeds>): Promise<KeyPair> {
  const loadStored = () => store.open(SigningKeysCollection).get(keyId)
  let document = await loadStored()
  if (!document) {
    const generated = await generateSigningKey(vault, timestamp(clock.now()))
    // If another node was first, its key stays and is read back.
    await works.run((work) => work.in(SigningKeysCollection).insert(generated, { ifPresent: "keep" }))
    document = await loadStored()
  }
  if (!document)
    throw new AppError("data_loss", "The signing key of viewer sessions was written, but cannot be read.", {
      reason: "document_unreadable",
    })
  const d = vault.open(document.private_jwk, signingKeyContext(document.kid))
  return {
    kid: document.kid,
    sign: (await importJWK({ ...document.public_jwk, d }, "EdDSA")) as CryptoKey,
    check: (await importJWK(document.public_jwk, "EdDSA")) as CryptoKey,
  }
}

async function generateSigningKey(vault: Vault, created_at: string): Promise<SigningKey> {
  const pair = await generateKeyPair("EdDSA", { extractable: true })
  const { kty, crv, x, d } = await exportJWK(pair.privateKey)
  if (!kty || !crv || !x || !d) throw new AppError("internal", "The generated EdDSA key cannot be exported.", { reason: "internal" })
  const kid = createHash("sha256").update(x).digest("base64url").slice(0, 16)
  return { id: keyId, kid, public_jwk: { kty, crv, x }, private_jwk: vault.seal(d, signingKeyContext(kid)), created_at }
}

// The membership behind a link or token. Both end with it.

/** One period of a person's membership in an organization. Joining again begins another period. */
interface MemberLink {
  readonly home_id: string
  readonly user_id: string
  /** RFC 3339. */
  readonly since: string
}

/** Returns the membership behind a caller, in the organization or in its manager. Undefined for a service key. */
export async function memberLinkOf(
  organizations: Pick<Organizations, "membership">,
  { user, organization, manager }: Pick<Caller, "user" | "organization" | "manager">,
): Promise<MemberLink | undefined> {
  const home_id = manager?.id ?? organization.id
  const membership = user && (await organizations.membership(home_id, user.id))
  return membership && { home_id, user_id: user.id, since: membership.created_at }
}

/** Returns false after the person left, even if the person joined again. */
export async function isStillMember(
  organizations: Pick<Organizations, "membership">,
  { home_id, user_id, since }: MemberLink,
): Promise<boolean> {
  return (await organizations.membership(home_id, user_id))?.created_at === since
}
