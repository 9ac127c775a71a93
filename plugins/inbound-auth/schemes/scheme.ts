// The kinds of proof that the provider table speaks of, each as data; one module beside this one checks each kind.
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

/** What every scheme over signed bytes has. */
const signedFields = {
  signature: SignatureText,
  /** Template of the signed bytes; for a canonical form only its description. */
  signed: z.string().default("{body}"),
  /** A canonical form that no template expresses. */
  canonical: z.enum(["contentful", "plivo", "paddle_classic"]).exactOptional(),
  url: UrlForm.exactOptional(),
  timestamp: TimestampRule.exactOptional(),
  /** Headers that must hold exactly this value. */
  require: z.record(z.string(), z.string()).exactOptional(),
}

const DigestScheme = z.strictObject({
  kind: z.enum(["hmac", "hmac_timestamped", "url_params_hmac", "sha256_concat"]),
  hash: Hash.default("sha256"),
  key: KeyEncoding.default("utf8"),
  ...signedFields,
  /** Refuses a request whose body the signature leaves out. */
  guard: z.enum(["twilio", "twilio_json"]).exactOptional(),
  /** Template of a value that may come with one body only, for a MAC that leaves the body out. */
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
  /** How the secret writes the public key. */
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
  /** Place of the token; for a list in the body every element must hold it. */
  at: z.string(),
  /** `auth_config.header` may name another header. */
  renameable: yes,
  /** Word before the token in the header, when there. */
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
  /** Claim that must have this value. */
  issuer: z.string().exactOptional(),
  /** Claim holding the hex SHA-256 of the body. */
  bodyHash: z.string().exactOptional(),
  urlHash: z.string().exactOptional(),
  /** Claim holding the hash of method, path and query. */
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
  /** Live secrets, empty ones already left out. */
  readonly secrets: readonly VerificationSecret[]
  readonly config: SchemeConfig
  readonly fetcher: KeyFetcher
  /** Absent where nothing is remembered from one request to the next. */
  readonly firstSeen?: FirstSeen | undefined
}

type SchemeConfig = Omit<ProviderConfig, "provider">

/** The settings that a signed text may name. */
export function settingsOf(config: SchemeConfig): Readonly<Record<string, string | undefined>> {
  return config.app_key === undefined ? {} : { app_key: config.app_key }
}
