// A secret in a header.

import { z } from "zod"
import { sameSecret } from "#core"

export class SecretText {
  readonly #secret: string

  constructor(secret: string) {
    this.#secret = secret
  }

  /** Compares the candidate as text and as bytes, because header text arrives with one character per byte. */
  equals(candidate: string): boolean {
    const asText = sameSecret(candidate, this.#secret)
    const asBytes = sameSecret(Buffer.from(candidate, "latin1"), this.#secret) && !hasWideCharacter(candidate)
    return asText || asBytes
  }
}

function hasWideCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return true
  return false
}

const reservedNames = new Set([
  "host",
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "connection",
  "user-agent",
  "x-signature-timestamp",
])

/**
 * A header name for a pipeline's credential. Excludes headers used by HTTP or the service: a credential is removed from the
 * request, so their readers would miss them.
 */
export const HeaderName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, "a header name: letters, digits and -")
  .refine((name) => !reservedNames.has(name.toLowerCase()), "this header is reserved; choose another, such as X-Webhook-Secret")
