// HMAC over a template of the request, and the older plain hash of secret and request.
import { createHash } from "node:crypto"
import { sameBytes } from "#core"
import { contentfulText } from "../canonical/contentful.ts"
import { plivoText } from "../canonical/plivo.ts"
import { keyBytes, keyVariants } from "../checks/key.ts"
import { OnceOnly } from "../checks/once-only.ts"
import { concatProver, hmacProver, type Prover } from "../checks/prover.ts"
import { signatureReader } from "../checks/signature-text.ts"
import { bodyHashInUrl, compileSignedText, type SignedText } from "../checks/signed-text.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import { type SchemeContext, settingsOf } from "./context.ts"
import type { DigestScheme } from "./scheme.ts"
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
  // The secret comes first in the hashed text, and the prover puts it there.
  return compileSignedText(scheme.signed.replace(/^\{secret\}/, ""))
}

/**
 * Twilio's MAC covers the URL and form fields. Any other body is covered only through its hash in the URL: without it,
 * a signature seen on one request would carry any body.
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
