// Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): `v1` HMAC
// entries, and `v1a` Ed25519 entries if the stored secret is a public key (`whpk_`). Svix's own header names take precedence, as
// in its library.
import { keyBytes, keyVariants, publicKey } from "../checks/key.ts"
import { hmacProver, type Prover, publicKeyProver } from "../checks/prover.ts"
import { type SignatureText, signatureReader } from "../checks/signature-text.ts"
import { compileSignedText } from "../checks/signed-text.ts"
import type { RequestView } from "../request/view.ts"
import type { SchemeContext, StandardWebhooksScheme } from "./scheme.ts"
import { type Matcher, matchSignature, type SignedRequest } from "./signed-request.ts"

type Family = "svix" | "webhook"

const publicKeyPrefix = "whpk_"

export function prepareStandardWebhooks(scheme: StandardWebhooksScheme, context: SchemeContext): Matcher {
  const families = { svix: familyOf("svix", scheme, context), webhook: familyOf("webhook", scheme, context) }
  return (view) => {
    const family = families[view.header("svix-signature") === undefined ? "webhook" : "svix"]
    return matchSignature(family[hasPublicKeyEntry(view, context) ? "asymmetric" : "symmetric"], view)
  }
}

function hasPublicKeyEntry(view: RequestView, context: SchemeContext): boolean {
  return (
    context.secrets.some(({ value }) => value.startsWith(publicKeyPrefix)) &&
    !context.secrets.some((secret) => isSymmetric(secret.value, view))
  )
}

/** With both kinds of live keys, the entries of the request decide. */
function isSymmetric(value: string, view: RequestView): boolean {
  if (value.startsWith(publicKeyPrefix)) return false
  const entries = view.header("svix-signature") ?? view.header("webhook-signature") ?? ""
  return entries.split(" ").some((entry) => entry.startsWith("v1,"))
}

function familyOf(family: Family, scheme: StandardWebhooksScheme, context: SchemeContext) {
  const rule = {
    ...scheme.timestamp,
    at: [`header:${family}-timestamp`],
    tolerance_s: context.config.tolerance_s ?? scheme.timestamp.tolerance_s,
  }
  const shared = {
    signed: compileSignedText(`{header:${family}-id}.{timestamp}.{body}`),
    template: scheme.signed,
    settings: {},
    timestamp: rule,
  }
  const symmetricText: SignatureText = { at: [`header:${family}-signature`], encoding: "base64", prefix: "v1,", separator: " " }
  const asymmetricText: SignatureText = { ...symmetricText, prefix: "v1a," }
  const symmetric: SignedRequest = {
    ...shared,
    provers: context.secrets.flatMap(({ id, value }): Prover[] => {
      const key = value.startsWith(publicKeyPrefix) ? undefined : keyBytes(value, "whsec")
      return key ? [hmacProver(id, key, "sha256", "base64")] : []
    }),
    otherReadings: () =>
      context.secrets.flatMap(({ id, value }) =>
        keyVariants(value, "whsec").map(({ hint, key }) => ({ hint, prover: hmacProver(id, key, "sha256", "base64") })),
      ),
    read: signatureReader(symmetricText),
    text: symmetricText,
    digestBytes: 32,
  }
  const asymmetric: SignedRequest = {
    ...shared,
    provers: context.secrets.flatMap(({ id, value }): Prover[] => {
      const key = value.startsWith(publicKeyPrefix) ? publicKey(value.slice(publicKeyPrefix.length), "raw_base64") : undefined
      return key ? [publicKeyProver(id, key, null, "base64")] : []
    }),
    otherReadings: () => [],
    read: signatureReader(asymmetricText),
    text: asymmetricText,
    digestBytes: 64,
  }
  return { symmetric, asymmetric }
}
