// The kinds of proof that the provider table speaks of, each as data; one module beside this one checks each kind.
import type { Encoding } from "../checks/encoding.ts"
import type { KeyEncoding } from "../checks/key.ts"
import type { SignatureText } from "../checks/signature-text.ts"
import type { TimestampRule } from "../checks/timestamp.ts"
import type { UrlForm } from "../checks/url-forms.ts"

/** What every scheme over signed bytes has. */
interface Signed {
  readonly signature: SignatureText
  /** Template of the signed bytes; for a canonical form only its description. */
  readonly signed: string
  /** A canonical form that no template expresses. */
  readonly canonical?: "contentful" | "plivo" | "paddle_classic"
  readonly url?: UrlForm
  readonly timestamp?: TimestampRule
  /** Headers that must hold exactly this value. */
  readonly require?: Readonly<Record<string, string>>
}

export interface DigestScheme extends Signed {
  readonly kind: "hmac" | "hmac_timestamped" | "url_params_hmac" | "sha256_concat"
  readonly hash: "sha1" | "sha256"
  readonly key: KeyEncoding
  /** Refuses a request whose body the signature leaves out. */
  readonly guard?: "twilio" | "twilio_json"
  /** Template of a value that may come with one body only, for a MAC that leaves the body out. */
  readonly once?: readonly string[]
}

interface AdyenItemsScheme {
  readonly kind: "hmac"
  readonly items: "adyen"
  readonly hash: "sha256"
  readonly key: "hex"
  readonly signed: string
}

export interface StandardWebhooksScheme {
  readonly kind: "standard_webhooks"
  readonly hash: "sha256"
  readonly key: "whsec"
  readonly signed: string
  readonly timestamp: TimestampRule
}

export interface PublicKeyScheme extends Signed {
  readonly kind: "ecdsa" | "rsa" | "ed25519"
  readonly hash: "sha1" | "sha256" | null
  /** How the secret writes the public key. */
  readonly key: "spki" | "raw_hex" | "raw_base64"
}

export interface FetchedCertificateScheme {
  readonly kind: "rsa"
  readonly certificate: "paypal" | "aws_sns"
  readonly hash: "sha1" | "sha256"
  readonly encoding: Encoding
  readonly signed: string
  readonly timestamp: TimestampRule
}

export interface TokenScheme {
  readonly kind: "token_header" | "token_body"
  /** Place of the token; for a list in the body every element must hold it. */
  readonly at: string
  /** `auth_config.header` may name another header. */
  readonly renameable?: true
  /** Word before the token in the header, when there. */
  readonly word?: "Bearer"
}

interface BasicAuthScheme {
  readonly kind: "basic_auth"
}

export interface JwtScheme {
  readonly kind: "jwt"
  readonly header: string
  readonly word?: "JWT" | "Bearer"
  readonly algorithm: "HS256" | "ES256" | "RS256"
  readonly key: "utf8" | "jwk" | "fetched_jwks"
  readonly signed: string
  /** Claim that must have this value. */
  readonly issuer?: string
  /** Claim holding the hex SHA-256 of the body. */
  readonly bodyHash?: string
  readonly urlHash?: string
  /** Claim holding the hash of method, path and query. */
  readonly requestHash?: "qsh"
  readonly audienceIsUrl?: true
  /** The body is the detached payload (RFC 7797). */
  readonly detached?: true
  /** Window around `iat`, and leeway of `exp` and `nbf`. */
  readonly tolerance_s?: number
  readonly needsExpiry?: true
}

interface OpenScheme {
  readonly kind: "none"
}

export type Scheme =
  | DigestScheme
  | AdyenItemsScheme
  | StandardWebhooksScheme
  | PublicKeyScheme
  | FetchedCertificateScheme
  | TokenScheme
  | BasicAuthScheme
  | JwtScheme
  | OpenScheme
