// Decodes text strictly: only the canonical spelling of some bytes is accepted, since Buffer.from skips what it does
// not know and two spellings of one signature would both pass.
import { z } from "zod"

export const Encoding = z.enum(["hex", "base64", "base64url"])
export type Encoding = z.output<typeof Encoding>

/** undefined when the text is not the canonical spelling. Hex is lower case; base64 is padded, base64url is not. */
export function decodeStrictly(text: string, encoding: Encoding): Buffer | undefined {
  const bytes = Buffer.from(text, encoding)
  return bytes.length > 0 && bytes.toString(encoding) === text ? bytes : undefined
}

/** Keys are written by people: hex in either case, base64 with or without padding, either alphabet. */
export function decodeKey(text: string, encoding: "hex" | "base64"): Buffer | undefined {
  if (encoding === "hex") return decodeStrictly(text.toLowerCase(), "hex")
  const plain = text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  const bytes = Buffer.from(plain, "base64")
  return bytes.length > 0 && bytes.toString("base64").replace(/=+$/, "") === plain ? bytes : undefined
}
