// Whether a provider's pipeline has a secret, who makes it, and whether a given one could ever verify.
import { AppError } from "#core"
import { keyBytes, keyForm, parseJwks, publicKey } from "../checks/key.ts"
import type { ProviderConfig } from "../provider-settings.ts"
import { fitsKind } from "../schemes/public-key.ts"
import type { ProviderRow } from "./table.ts"

/** What a secret that this service generated looks like. */
const generated = /^whsec_[A-Za-z0-9+/]{43}=$/

export function secretOf(row: ProviderRow, config: Pick<ProviderConfig, "query_parameter">): "none" | "generated" | "provided" {
  if (row.scheme.kind === "none") return config.query_parameter === undefined ? "none" : "generated"
  if (row.secret === "none") return "none"
  return row.secret === "receiver" ? "generated" : "provided"
}

/** Throws AppError `invalid_argument`; the message never repeats the secret. */
export function checkProviderSecret(secret: string, row: ProviderRow, config: Pick<ProviderConfig, "query_parameter">): void {
  if (secretOf(row, config) === "none") throw bad(`${row.name} verifies without a secret; leave it out.`)
  plainSecret(secret)
  const subject = `${row.name} expects its ${row.secretName ?? "shared secret"}`
  const problem = problemWith(secret, row)
  if (problem !== undefined) throw bad(`${subject}: ${problem}`)
}

function problemWith(secret: string, row: ProviderRow): string | undefined {
  const { scheme } = row
  if ((row.secret === "public_key" || scheme.kind === "jwt") && generated.test(secret)) {
    return "a generated secret can never verify what the provider signs with a key of its own; copy it from the provider."
  }
  if (row.secretForm && !row.secretForm.pattern.test(secret)) return `it must be ${row.secretForm.says}.`
  switch (scheme.kind) {
    case "basic_auth":
      return secret.indexOf(":") > 0 ? undefined : "the form is user:password, with the colon."
    case "ecdsa":
    case "ed25519":
      return keyProblem(secret, scheme)
    case "rsa":
      return "certificate" in scheme ? undefined : keyProblem(secret, scheme)
    case "jwt":
      return scheme.key === "jwk" && !parseJwks(secret) ? "the given text is not a JWK or JWKS of public keys." : undefined
    case "standard_webhooks":
      return standardProblem(secret)
    case "token_header":
    case "token_body":
    case "none":
      return undefined
    default:
      return keyBytes(secret, scheme.key) ? undefined : `it must be ${keyForm[scheme.key]}.`
  }
}

function keyProblem(
  secret: string,
  scheme: { readonly kind: "ecdsa" | "rsa" | "ed25519"; readonly key: "spki" | "raw_hex" | "raw_base64" },
): string | undefined {
  const key = publicKey(secret, scheme.key)
  const form = { spki: "PEM, or base64 of the DER", raw_hex: "64 hexadecimal digits", raw_base64: "base64 of 32 bytes" }[scheme.key]
  if (!key) return `the given text is not a public key (${form}).`
  return fitsKind(scheme.kind, key.asymmetricKeyType) ? undefined : `the given key is of type ${key.asymmetricKeyType}, not ${scheme.kind}.`
}

function standardProblem(secret: string): string | undefined {
  if (secret.startsWith("whsk_"))
    return "whsk_ is the sender's private key, which belongs to the sender alone; the public one starts with whpk_."
  if (secret.startsWith("whpk_"))
    return publicKey(secret.slice(5), "raw_base64") ? undefined : "whpk_ must be followed by base64 of 32 bytes."
  return keyBytes(secret, "whsec") ? undefined : `it must be ${keyForm.whsec}.`
}

/** Shorter ones can be guessed from one signed event. */
const minSecretLength = 16

/** Checks a secret of any mode. Throws AppError `invalid_argument`. */
export function plainSecret(secret: string): void {
  if (secret === "") throw bad("The secret is empty.")
  if (secret.length < minSecretLength)
    throw bad(`The secret has ${secret.length} characters; use at least ${minSecretLength}, or leave it out to get a generated one.`)
  // A public key in PEM has line breaks.
  if (/[^\P{Cc}\t\r\n]/u.test(secret)) throw bad("The secret has a control character; use visible characters.")
  if (secret !== secret.trim()) throw bad("The secret has white space around it; store it exactly as it is used.")
}

function bad(message: string): AppError {
  return new AppError("invalid_argument", message, { reason: "unusable_secret", fields: [{ path: "auth_config.secret", message }] })
}
