// A secret that arrives in a header.
import { sameSecret } from "#core"

export class SecretText {
  readonly #secret: string

  constructor(secret: string) {
    this.#secret = secret
  }

  /** Header text arrives as one character a byte, so it is read both ways. */
  equals(given: string): boolean {
    const asText = sameSecret(given, this.#secret)
    const asBytes = sameSecret(Buffer.from(given, "latin1"), this.#secret) && !hasWideCharacter(given)
    return asText || asBytes
  }
}

function hasWideCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return true
  return false
}
