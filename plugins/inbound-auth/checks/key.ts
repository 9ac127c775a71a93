// Converts a secret to the bytes of a MAC key. Providers treat the prefix `whsec_` differently: Standard Webhooks decodes the
// rest, Stripe uses the whole string.

import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto"
import type { JWK } from "jose"
import { z } from "zod"
import { parsedJson } from "#core"
import { decodeKey } from "./encoding.ts"

/** `utf8`: the whole string, verbatim. `whsec`: base64 after the prefix `whsec_` or `v1,whsec_`. */
export const KeyEncoding = z.enum(["utf8", "hex", "base64", "whsec"])
export type KeyEncoding = z.output<typeof KeyEncoding>

/** Returns the key, or undefined if the secret is empty or cannot be decoded. */
export function keyBytes(secret: string, encoding: KeyEncoding): Buffer | undefined {
  if (secret === "") return undefined
  switch (encoding) {
    case "utf8":
      return Buffer.from(secret, "utf8")
    case "whsec":
      return decodeKey(secret.replace(/^v1,/, "").replace(/^whsec_/, ""), "base64")
    default:
      return decodeKey(secret, encoding)
  }
}

export const keyForm: Readonly<Record<KeyEncoding, string>> = {
  utf8: "the whole string as shown",
  hex: "hexadecimal digits",
  base64: "base64",
  whsec: "`whsec_` followed by base64",
}

interface KeyVariant {
  readonly hint: string
  readonly key: Buffer
}

/** Returns other readings of the secret, for explaining a failure. */
export function keyVariants(secret: string, encoding: KeyEncoding): KeyVariant[] {
  const bare = secret.trim().replace(/^(["'])(.*)\1$/s, "$2")
  const texts: readonly (readonly [hint: string, text: string, encoding: KeyEncoding])[] = [
    ["without the white space or quotes around it", bare, encoding],
    ["without its `whsec_` prefix", bare.replace(/^whsec_/, ""), "utf8"],
    ["with a `whsec_` prefix", `whsec_${bare}`, "utf8"],
    ["as a verbatim string", bare, "utf8"],
    ["base64-decoded after its prefix", bare, "whsec"],
    ["decoded from hexadecimal", bare, "hex"],
  ]
  const ownKey = keyBytes(secret, encoding)
  const variants: KeyVariant[] = []
  for (const [hint, text, as] of texts) {
    const key = keyBytes(text, as)
    if (key && !(ownKey && key.equals(ownKey)) && !variants.some((earlier) => earlier.key.equals(key))) variants.push({ hint, key })
  }
  return variants
}

// Public keys in the formats of providers: PEM, base64 of SPKI DER, an X.509 certificate, or the 32 raw bytes of Ed25519.

const ed25519Spki = Buffer.from("302a300506032b6570032100", "hex")

/** Returns undefined if the text is not a public key in this form. */
export function publicKey(text: string, form: "spki" | "raw_hex" | "raw_base64"): KeyObject | undefined {
  const plain = text.trim()
  try {
    if (plain.includes("BEGIN CERTIFICATE")) return new X509Certificate(plain).publicKey
    if (plain.startsWith("-----BEGIN PUBLIC KEY") || plain.startsWith("-----BEGIN RSA PUBLIC KEY")) return createPublicKey(plain)
    if (plain.startsWith("-----")) return undefined
    const bytes = decodeKey(plain.replace(/\s+/g, ""), form === "raw_hex" ? "hex" : "base64")
    if (bytes === undefined) return undefined
    if (form === "spki") return createPublicKey({ key: bytes, format: "der", type: "spki" })
    return bytes.length === 32 ? createPublicKey({ key: Buffer.concat([ed25519Spki, bytes]), format: "der", type: "spki" }) : undefined
  } catch {
    return undefined
  }
}

// Reads one JWK or a set of JWKs. Refuses private and symmetric keys, because they are secrets.

/** Returns undefined if the text contains no public key. */
export function parseJwks(text: string): JWK[] | undefined {
  const parsed = parsedJson(text)
  if (typeof parsed !== "object" || parsed === null) return undefined
  const { keys } = parsed as { keys?: unknown }
  const list: unknown[] = Array.isArray(keys) ? keys : [parsed]
  const publicKeys = list.filter(isPublicJwk)
  return publicKeys.length > 0 ? publicKeys : undefined
}

function isPublicJwk(value: unknown): value is JWK {
  if (typeof value !== "object" || value === null) return false
  const { kty, d, k } = value as Record<string, unknown>
  return (kty === "EC" || kty === "RSA") && d === undefined && k === undefined
}
