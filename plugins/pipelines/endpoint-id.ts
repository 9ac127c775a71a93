// Endpoint ids: `in_` and 22 base62 characters (131 bits), so that an address cannot be guessed.
import { randomBytes } from "node:crypto"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const length = 22

export function newEndpointId(): string {
  let id = "in_"
  while (id.length < 3 + length) {
    // 248 is the largest multiple of 62 in a byte: what is above would favour some letters.
    for (const byte of randomBytes(length)) if (byte < 248 && id.length < 3 + length) id += alphabet[byte % 62]
  }
  return id
}
