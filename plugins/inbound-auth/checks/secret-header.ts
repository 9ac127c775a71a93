// A secret that arrives in a header.

import { z } from "zod"
import { sameSecret } from "#core"

export class SecretText {
  readonly #secret: string

  constructor(secret: string) {
    this.#secret = secret
  }

  /** Header text arrives as one character a byte, so it is read both ways. */
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
 * A header that a pipeline may name for its proof. Headers that HTTP itself or the service reads for other ends are not
 * for it: removing them as proof would hide them from their readers.
 */
export const HeaderName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, "a header name: letters, digits and -")
  .refine((name) => !reservedNames.has(name.toLowerCase()), "this header is reserved; choose another, such as X-Webhook-Secret")
