// The text of keys: `mr_api_<id>_<secret><crc>` and `mr_token_<id>_<secret><crc>`. All base62: 16 characters of id, 32 of secret
// (190 bits), 6 of CRC-32 over the preceding text. The checksum distinguishes a typo from a forgery without a look-up, and makes
// matches of secret scanners certain.
import { createHash, randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"

/** An agent has a scoped token. A session is the credential of a browser signed in with another kind. */
export type KeyKind = "api_key" | "token" | "agent" | "session"
type TextKind = Exclude<KeyKind, "agent">

export interface KeyText {
  /** Kind in the text. A token of the kind `agent` reads as a token. */
  readonly kind: TextKind
  /** The public part, used for the look-up. */
  readonly keyId: string
  /** The whole key; never stored. */
  readonly text: string
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const idLength = 16
const secretLength = 32
const checksumLength = 6
const words: Record<TextKind, string> = { api_key: "api", token: "token", session: "session" }

const pattern = /^mr_(api|token|session)_([0-9A-Za-z]{16})_[0-9A-Za-z]{32}([0-9A-Za-z]{6})$/

export const keyFormat = "mr_api_<16 base62 characters>_<32 base62 characters><6 base62 characters of CRC-32>"

/** `keyId`: the public part, for a new secret of an existing credential. */
export function generateKey(kind: KeyKind, keyId: string = randomBase62(idLength)): KeyText {
  const body = `${prefixOf(kind, keyId)}_${randomBase62(secretLength)}`
  return { kind: textKind(kind), keyId, text: body + checksumOf(body) }
}

/** `malformed`: not a key of this service; `mistyped`: the form of a key with a wrong checksum. */
export function parseKey(text: string): KeyText | "malformed" | "mistyped" {
  const [, word, keyId, checksum] = pattern.exec(text) ?? []
  if (keyId === undefined) return "malformed"
  if (checksumOf(text.slice(0, -checksumLength)) !== checksum) return "mistyped"
  return { kind: word === "api" ? "api_key" : (word as "token" | "session"), keyId, text }
}

/** Returns the kind in the text of a key. */
export function textKind(kind: KeyKind): TextKind {
  return kind === "agent" ? "token" : kind
}

/** Returns the stored form of a key or a link, in hex. A plain hash is enough: a secret of 190 random bits resists guesses. */
export function hashKey(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}

/** Returns the public part of a key, for recognition. */
export function prefixOf(kind: KeyKind, keyId: string): string {
  return `mr_${words[textKind(kind)]}_${keyId}`
}

function checksumOf(body: string): string {
  let remaining = crc32(body)
  let out = ""
  for (let n = 0; n < checksumLength; n++) {
    out = alphabet.charAt(remaining % 62) + out
    remaining = Math.floor(remaining / 62)
  }
  return out
}

/** Bytes from 248 are dropped to make all characters equally likely. */
function randomBase62(length: number): string {
  let out = ""
  while (out.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && out.length < length) out += alphabet.charAt(byte % 62)
    }
  }
  return out
}
