// Comparison in constant time, for what only its holder may know.
import { createHash, timingSafeEqual } from "node:crypto"

/** For signatures and hashes, whose length is public; texts as UTF-8. */
export function sameBytes(given: Uint8Array | string, expected: Uint8Array | string): boolean {
  const [left, right] = [bytesOf(given), bytesOf(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** For secrets, whose length is not public: both sides are hashed first. */
export function sameSecret(given: Uint8Array | string, expected: Uint8Array | string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(expected))
}

function bytesOf(value: Uint8Array | string): Uint8Array {
  return typeof value === "string" ? Buffer.from(value, "utf8") : value
}

function digestOf(value: Uint8Array | string): Buffer {
  return createHash("sha256").update(bytesOf(value)).digest()
}
