// Signed tokens (RFC 7519) for a request. The algorithm is fixed. Claims bind the request, above all by the body's hash. The
// library jose verifies the token. Times are compared with the request's arrival.
import { compactVerify, errors, flattenedVerify, importJWK, type CryptoKey as JoseKey, type JWK } from "jose"
import { parseJwks } from "../checks/key.ts"
import { FetchedKeys } from "../key-fetcher.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import { type Claims, checkClaims } from "./jwt-claims.ts"
import type { JwtScheme, SchemeContext } from "./scheme.ts"
import { type Matcher, noSecret } from "./signed-request.ts"

interface JwtKey {
  readonly secretId?: string
  readonly kid?: string
  readonly key: JoseKey | Uint8Array
}

const publishedKeys = "https://developer.constantcontact.com/.well-known/jwks.json"
const refetchAfter_ms = 300_000

export function prepareJwt(scheme: JwtScheme, context: SchemeContext): Matcher {
  const keys = keySource(scheme, context)
  return async (view) => {
    const { token, proof } = readToken(scheme, view)
    const header = protectedHeader(token, scheme)
    const live = await keys(view.request.receivedAt)
    if (live.length === 0) throw noSecret()
    const fitting = live.filter(({ kid }) => kid === undefined || header.kid === undefined || kid === header.kid)
    if (fitting.length === 0)
      throw new Refused(
        "unknown_key",
        `The token is signed by key "${String(header.kid).slice(0, 80)}", which is not among the stored keys.`,
      )
    for (const { key, secretId } of fitting) {
      const claims = await claimsUnder(key, token, scheme, view)
      if (claims === undefined) continue
      checkClaims(scheme, claims, view, context.config.tolerance_s)
      return { proof, ...(secretId !== undefined && { secretId }) }
    }
    throw new Refused(
      "wrong_secret",
      `The token's signature does not match ${fitting.length === 1 ? "the active key" : "any active key"}${scheme.detached ? ", or the body was changed in transit" : ""}.`,
    )
  }
}

function readToken(scheme: JwtScheme, view: RequestView) {
  const value = view.header(scheme.header)
  if (!value) throw new Refused("missing_header", `Header ${scheme.header} is absent or empty; it must hold the signed token.`)
  const token = scheme.word === undefined ? value : value.replace(new RegExp(`^${scheme.word} +`, "i"), "")
  const shape = scheme.detached ? /^[\w-]+\.\.[\w-]+$/ : /^[\w-]+\.[\w-]+\.[\w-]+$/
  if (!shape.test(token))
    throw new Refused(
      "malformed_signature",
      `Header ${scheme.header} holds no ${scheme.detached ? "detached " : ""}JWS${scheme.word ? ` after "${scheme.word} "` : ""}.`,
    )
  // A second spelling of the same signature must not count as another credential.
  for (const part of token.split(".")) {
    if (Buffer.from(part, "base64url").toString("base64url") !== part)
      throw new Refused("malformed_signature", "A part of the token is not canonical base64url.")
  }
  return { token, proof: { headers: [scheme.header] } }
}

function protectedHeader(token: string, scheme: JwtScheme): { readonly kid?: unknown } {
  const text = Buffer.from(token.slice(0, token.indexOf(".")), "base64url").toString("utf8")
  let header: Record<string, unknown>
  try {
    header = JSON.parse(text)
  } catch {
    throw new Refused("malformed_signature", "The token's header is not JSON.")
  }
  if (header["alg"] !== scheme.algorithm) {
    throw new Refused(
      "malformed_signature",
      `The token says alg "${String(header["alg"]).slice(0, 20)}"; only ${scheme.algorithm} is accepted.`,
    )
  }
  return { kid: header["kid"] }
}

/** Returns the claims if the signature is right, otherwise undefined. */
async function claimsUnder(key: JwtKey["key"], token: string, scheme: JwtScheme, view: RequestView): Promise<Claims | undefined> {
  const algorithms = [scheme.algorithm]
  try {
    if (scheme.detached) {
      const [header = "", , signature = ""] = token.split(".")
      // With `b64: false` the payload is signed as it is (RFC 7797), otherwise in base64url (RFC 7515, appendix F).
      const isPlain = (JSON.parse(Buffer.from(header, "base64url").toString("utf8")) as { b64?: unknown }).b64 === false
      const payload = isPlain ? view.request.body : view.request.body.toString("base64url")
      await flattenedVerify({ protected: header, payload, signature }, key, { algorithms })
      return {}
    }
    const { payload } = await compactVerify(token, key, { algorithms })
    return JSON.parse(Buffer.from(payload).toString("utf8")) as Claims
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return undefined
    throw new Refused("malformed_signature", "The token cannot be read as a signed token.")
  }
}

function keySource(scheme: JwtScheme, context: SchemeContext): (now: number) => Promise<readonly JwtKey[]> {
  if (scheme.key === "utf8") {
    const keys = context.secrets.map(({ id, value }) => ({ secretId: id, key: new Uint8Array(Buffer.from(value, "utf8")) }))
    return async () => keys
  }
  if (scheme.key === "jwk") {
    const keys = Promise.all(context.secrets.flatMap(({ id, value }) => (parseJwks(value) ?? []).map((jwk) => importKey(jwk, scheme, id))))
    return async () => (await keys).filter((key) => key !== undefined)
  }
  if (context.config.public_key !== undefined) {
    const keys = importAll(parseJwks(context.config.public_key) ?? [], scheme)
    return () => keys
  }
  const fetched = new FetchedKeys(context.fetcher, (text) => importAll(parseJwks(text) ?? [], scheme))
  return async (now) => {
    try {
      return await fetched.get(publishedKeys, now, now - refetchAfter_ms)
    } catch (error) {
      throw new Refused(
        "key_unavailable",
        `The keys at ${publishedKeys} could not be fetched: ${error instanceof Error ? error.message : "unknown reason"}`,
      )
    }
  }
}

async function importAll(keys: readonly JWK[], scheme: JwtScheme): Promise<readonly JwtKey[]> {
  return (await Promise.all(keys.map((jwk) => importKey(jwk, scheme)))).filter((key) => key !== undefined)
}

/** Skips keys of other algorithms. */
async function importKey(jwk: JWK, scheme: JwtScheme, secretId?: string): Promise<JwtKey | undefined> {
  try {
    const key = await importJWK(jwk, scheme.algorithm)
    return { key, ...(jwk.kid !== undefined && { kid: jwk.kid }), ...(secretId !== undefined && { secretId }) }
  } catch {
    return undefined
  }
}
