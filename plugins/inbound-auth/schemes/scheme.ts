// Schemes of the provider table, as data. A neighbouring module checks each kind.
import { z } from "zod"
import type { VerificationSecret } from "#core"
import { Encoding } from "../checks/encoding.ts"
import { KeyEncoding } from "../checks/key.ts"
import type { FirstSeen } from "../checks/once-only.ts"
import { SignatureText } from "../checks/signature-text.ts"
import { TimestampRule } from "../checks/timestamp.ts"
import { UrlForm } from "../checks/url-forms.ts"
import type { KeyFetcher } from "../key-fetcher.ts"
import type { ProviderConfig } from "../provider-settings.ts"

const Hash = z.enum(["sha1", "sha256"])
const yes = z.literal(true).exactOptional()

/** Fields of every scheme over signed bytes. */
const signedFields = {
  signature: SignatureText,
  /** Template of the signed bytes. Only a description for canonical forms. */
  signed: z.string().default("{body}"),
  /** A canonical form outside the template syntax. */
  canonical: z.enum(["contentful", "plivo", "paddle_classic"]).exactOptional(),
  url: UrlForm.exactOptional(),
  timestamp: TimestampRule.exactOptional(),
  /** Required headers and their exact values. */
  require: z.record(z.string(), z.string()).exactOptional(),
}

const DigestScheme = z.strictObject({
  kind: z.enum(["hmac", "hmac_timestamped", "url_params_hmac", "sha256_concat"]),
  hash: Hash.default("sha256"),
  key: KeyEncoding.default("utf8"),
  ...signedFields,
  /** Refuses a request if the signature leaves out its body. */
  guard: z.enum(["twilio", "twilio_json"]).exactOptional(),
  /** Template of a value allowed with one body only, for a MAC without the body. */
  once: z.array(z.string()).exactOptional(),
})
export type DigestScheme = z.output<typeof DigestScheme>

const AdyenItemsScheme = z.strictObject({
  kind: z.literal("hmac"),
  items: z.literal("adyen"),
  hash: z.literal("sha256"),
  key: z.literal("hex"),
  signed: z.string(),
})

const StandardWebhooksScheme = z.strictObject({
  kind: z.literal("standard_webhooks"),
  hash: z.literal("sha256"),
  key: z.literal("whsec"),
  signed: z.string(),
  timestamp: TimestampRule,
})
export type StandardWebhooksScheme = z.output<typeof StandardWebhooksScheme>

const PublicKeyScheme = z.strictObject({
  kind: z.enum(["ecdsa", "rsa", "ed25519"]),
  hash: Hash.nullable(),
  /** Format of the public key in the secret. */
  key: z.enum(["spki", "raw_hex", "raw_base64"]),
  ...signedFields,
})
export type PublicKeyScheme = z.output<typeof PublicKeyScheme>

const FetchedCertificateScheme = z.strictObject({
  kind: z.literal("rsa"),
  certificate: z.enum(["paypal", "aws_sns"]),
  hash: Hash,
  encoding: Encoding,
  signed: z.string(),
  timestamp: TimestampRule,
})
export type FetchedCertificateScheme = z.output<typeof FetchedCertificateScheme>

const TokenScheme = z.strictObject({
  kind: z.enum(["token_header", "token_body"]),
  /** Place of the token. In a body with a list, every element must have the token. */
  at: z.string(),
  /** `auth_config.header` may name another header. */
  renameable: yes,
  /** Optional word before the token in the header. */
  word: z.literal("Bearer").exactOptional(),
})
export type TokenScheme = z.output<typeof TokenScheme>

const JwtScheme = z.strictObject({
  kind: z.literal("jwt"),
  header: z.string(),
  word: z.enum(["JWT", "Bearer"]).exactOptional(),
  algorithm: z.enum(["HS256", "ES256", "RS256"]),
  key: z.enum(["utf8", "jwk", "fetched_jwks"]),
  signed: z.string(),
  /** Required value of the claim `iss`. */
  issuer: z.string().exactOptional(),
  /** Claim with the hex SHA-256 of the body. */
  bodyHash: z.string().exactOptional(),
  urlHash: z.string().exactOptional(),
  /** Claim with the hash of method, path and query. */
  requestHash: z.literal("qsh").exactOptional(),
  audienceIsUrl: yes,
  /** The body is the detached payload (RFC 7797). */
  detached: yes,
  /** Window around `iat`, and leeway of `exp` and `nbf`. */
  tolerance_s: z.int().positive().exactOptional(),
  needsExpiry: yes,
})
export type JwtScheme = z.output<typeof JwtScheme>

export const Scheme = z.union([
  DigestScheme,
  AdyenItemsScheme,
  StandardWebhooksScheme,
  PublicKeyScheme,
  FetchedCertificateScheme,
  TokenScheme,
  JwtScheme,
  z.strictObject({ kind: z.literal("basic_auth") }),
  z.strictObject({ kind: z.literal("none") }),
])
export type Scheme = z.output<typeof Scheme>

export interface SchemeContext {
  /** Live secrets, without empty ones. */
  readonly secrets: readonly VerificationSecret[]
  readonly config: SchemeConfig
  readonly fetcher: KeyFetcher
  /** Absent without a memory between requests. */
  readonly firstSeen?: FirstSeen | undefined
}

type SchemeConfig = Omit<ProviderConfig, "provider">

/** Returns the settings available to a signed text. */
export function settingsOf(config: SchemeConfig): Readonly<Record<string, string | undefined>> {
  return config.app_key === undefined ? {} : { app_key: config.app_key }
}
