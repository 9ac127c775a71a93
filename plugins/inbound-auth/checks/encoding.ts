// Decodes text strictly: only the canonical spelling of the bytes is valid. Buffer.from skips unknown characters, so it would
// accept two spellings of one signature.
import { z } from "zod"

export const Encoding = z.enum(["hex", "base64", "base64url"])
export type Encoding = z.output<typeof Encoding>

/** Returns undefined if the spelling is not canonical: lower-case hex, padded base64, unpadded base64url. */
export function decodeStrictly(text: string, encoding: Encoding): Buffer | undefined {
  const bytes = Buffer.from(text, encoding)
  return bytes.length > 0 && bytes.toString(encoding) === text ? bytes : undefined
}

/** Decodes a key typed by a person: hex in either case, base64 in either alphabet, with or without padding. */
export function decodeKey(text: string, encoding: "hex" | "base64"): Buffer | undefined {
  if (encoding === "hex") return decodeStrictly(text.toLowerCase(), "hex")
  const plain = text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  const bytes = Buffer.from(plain, "base64")
  return bytes.length > 0 && bytes.toString("base64").replace(/=+$/, "") === plain ? bytes : undefined
}
