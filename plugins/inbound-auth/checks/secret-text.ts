// A secret that arrives in a header.
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
