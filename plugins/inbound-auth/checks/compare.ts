// Comparison in constant time. Texts of differing length are unequal without telling where they differ.
import { createHash, timingSafeEqual } from "node:crypto"

/** For signatures, whose length is public. */
export function sameText(given: string, expected: string): boolean {
  const right = Buffer.from(expected, "utf8")
  const left = Buffer.from(given, "utf8")
  if (left.length !== right.length) {
    timingSafeEqual(right, right)
    return false
  }
  return timingSafeEqual(left, right)
}

/** For secrets, whose length is not public: both sides are hashed first. */
export class SecretText {
  readonly #digest: Buffer

  constructor(secret: string) {
    this.#digest = digest(Buffer.from(secret, "utf8"))
  }

  /** Header text arrives as one character a byte, so it is read both ways. */
  equals(given: string): boolean {
    const asText = timingSafeEqual(digest(Buffer.from(given, "utf8")), this.#digest)
    const asBytes = timingSafeEqual(digest(Buffer.from(given, "latin1")), this.#digest) && !hasWideCharacter(given)
    return asText || asBytes
  }
}

function hasWideCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return true
  return false
}

function digest(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest()
}
