// Checks an HMAC over a template of the request, or the older plain hash of secret and request.
import { createHash } from "node:crypto"
import { escape as escapeQuery } from "node:querystring"
import { sameBytes } from "#core"
import { keyBytes, keyVariants } from "../checks/key.ts"
import { OnceOnly } from "../checks/once-only.ts"
import { concatProver, hmacProver, type Prover } from "../checks/prover.ts"
import { signatureReader } from "../checks/signature-text.ts"
import { bodyHashInUrl, compileSignedText, type Pieces, type SignedText, type SigningContext } from "../checks/signed-text.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import { type DigestScheme, type SchemeContext, settingsOf } from "./scheme.ts"
import { type Matcher, matchSignature, type SignedRequest } from "./signed-request.ts"

export function prepareDigest(scheme: DigestScheme, context: SchemeContext): Matcher {
  const make = (secretId: string, key: Buffer): Prover =>
    scheme.kind === "sha256_concat"
      ? concatProver(secretId, key, scheme.hash, scheme.signature.encoding)
      : hmacProver(secretId, key, scheme.hash, scheme.signature.encoding)
  const provers = context.secrets.flatMap(({ id, value }) => {
    const key = keyBytes(value, scheme.key)
    return key ? [make(id, key)] : []
  })
  const spec: SignedRequest = {
    provers,
    otherReadings: () =>
      context.secrets.flatMap(({ id, value }) => keyVariants(value, scheme.key).map(({ hint, key }) => ({ hint, prover: make(id, key) }))),
    read: signatureReader(scheme.signature),
    text: scheme.signature,
    signed: signedText(scheme),
    template: scheme.signed,
    settings: settingsOf(context.config),
    digestBytes: scheme.hash === "sha1" ? 20 : 32,
    ...(scheme.url && { url: scheme.url }),
    ...(scheme.timestamp && {
      timestamp: { ...scheme.timestamp, tolerance_s: context.config.tolerance_s ?? scheme.timestamp.tolerance_s },
    }),
    ...(scheme.require && { require: scheme.require }),
  }
  const { firstSeen } = context
  const once = scheme.once && firstSeen && new OnceOnly(scheme.once, spec.timestamp?.tolerance_s ?? 0, firstSeen)
  return (view) => {
    const match = matchSignature(spec, view)
    if (scheme.guard) checkTwilioBody(view, scheme.guard)
    return once ? once.check(view).then(() => match) : match
  }
}

function signedText(scheme: DigestScheme): SignedText {
  if (scheme.canonical === "contentful") return contentfulText
  if (scheme.canonical === "plivo") return plivoText
  // The prover puts the secret at the start of the hashed text.
  return compileSignedText(scheme.signed.replace(/^\{secret\}/, ""))
}

/**
 * Twilio's MAC covers the URL and form fields. Other bodies are covered only by their hash in the URL. Without the hash, a
 * captured signature would fit any body.
 */
function checkTwilioBody(view: RequestView, guard: "twilio" | "twilio_json"): void {
  const claimed = bodyHashInUrl(view.request.url)
  if (claimed !== undefined) {
    const actual = createHash("sha256").update(view.request.body).digest("hex")
    if (sameBytes(claimed, actual)) return
    throw new Refused(
      "body_modified",
      "The signature is right, but the body does not have the SHA-256 that bodySHA256 in the signed URL names.",
    )
  }
  if (guard === "twilio_json") {
    throw new Refused(
      "body_not_covered",
      "The URL has no bodySHA256, so a JSON body is not covered; form callbacks are verified with provider `twilio`.",
    )
  }
  const isForm = view.contentType.toLowerCase().startsWith("application/x-www-form-urlencoded")
  if (view.request.body.length === 0 || isForm) return
  throw new Refused("body_not_covered", `The signature does not cover a body of type "${view.contentType}" without bodySHA256 in the URL.`)
}

const listHeader = "x-contentful-signed-headers"
const timestampHeader = "x-contentful-timestamp"

/**
 * Contentful's canonical request, one part per line: method, path with query, signed headers, body. The headers are `name:value`,
 * sorted and joined with `;`. The sender chooses the headers; they must include the timestamp.
 */
function contentfulText(view: RequestView, context: SigningContext): Pieces {
  const list = view.header(listHeader)
  if (list === undefined) throw new Refused("missing_header", `Header ${listHeader} is absent; it names the headers that are signed.`)
  const names = list.split(",").map((name) => name.trim().toLowerCase())
  if (!names.includes(timestampHeader)) {
    throw new Refused("timestamp_missing", `${listHeader} does not name ${timestampHeader}, so the signature does not cover the time.`)
  }
  const headers = names
    .map((name) => [name, (view.header(name) ?? "").trim()] as const)
    .sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
    .map(([name, value]) => `${name}:${value}`)
    .join(";")
  return [`${view.request.method.toUpperCase()}\n${pathOf(context.url)}\n${headers}\n`, view.request.body]
}

/** Escapes the query as a whole, then encodes the path and query again, like Contentful's toolkit. */
function pathOf(url: string): string {
  const target = /^https?:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1] ?? url
  const [path = "", search] = target.split("?")
  return encodeURI((search ? `${path}?${escapeQuery(search)}` : path).toWellFormed())
}

const nonceHeader = "x-plivo-signature-v3-nonce"

/**
 * Plivo's V3 text: address, sorted query, sorted form fields, nonce. A `?` follows the address if there is a query or a form. A
 * `.` separates them if both exist.
 */
function plivoText(view: RequestView, context: SigningContext): Pieces {
  const nonce = view.header(nonceHeader)
  if (!nonce) throw new Refused("missing_header", `Header ${nonceHeader} is absent or empty.`)
  if (view.request.body.length > 0 && view.form === undefined) {
    throw new Refused("body_not_covered", `The signature covers form fields only, not a body of type "${view.contentType}".`)
  }
  const [base = "", search = ""] = context.url.split(/\?(.*)/s, 2)
  const query = sortAndJoin([...new URLSearchParams(search)], "=").join("&")
  const form = sortAndJoin(view.form ?? [], "").join("")
  const question = query !== "" || form !== "" ? "?" : ""
  const dot = query !== "" && form !== "" ? "." : ""
  return [`${base}${question}${query}${dot}${form}.${nonce}`]
}

function sortAndJoin(pairs: readonly (readonly [string, string])[], glue: string): string[] {
  return [...pairs].sort(byNameThenValue).map(([name, value]) => `${name}${glue}${value}`)
}

function byNameThenValue(left: readonly [string, string], right: readonly [string, string]): number {
  return compare(left[0], right[0]) || compare(left[1], right[1])
}

function compare(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}
