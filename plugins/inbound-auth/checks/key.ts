// From a secret as its owner knows it to the bytes of a MAC key. Providers disagree about the same `whsec_` prefix:
// Standard Webhooks decodes what follows, Stripe uses the whole string.
import { z } from "zod"
import { decodeKey } from "./encoding.ts"

/** `utf8` is the whole string, verbatim; `whsec` is base64 after `whsec_`, and `v1,` before it. */
export const KeyEncoding = z.enum(["utf8", "hex", "base64", "whsec"])
export type KeyEncoding = z.output<typeof KeyEncoding>

/** The key, or undefined when the secret is empty or cannot be decoded. */
export function keyBytes(secret: string, encoding: KeyEncoding): Buffer | undefined {
  if (secret === "") return undefined
  switch (encoding) {
    case "utf8":
      return Buffer.from(secret, "utf8")
    case "whsec":
      return decodeKey(secret.replace(/^v1,/, "").replace(/^whsec_/, ""), "base64")
    default:
      return decodeKey(secret, encoding)
  }
}

export const keyForm: Readonly<Record<KeyEncoding, string>> = {
  utf8: "the whole string as shown",
  hex: "hexadecimal digits",
  base64: "base64",
  whsec: "`whsec_` followed by base64",
}

interface KeyVariant {
  readonly hint: string
  readonly key: Buffer
}

/** Other readings of the same secret, tried only to explain a failure. */
export function keyVariants(secret: string, encoding: KeyEncoding): KeyVariant[] {
  const bare = secret.trim().replace(/^(["'])(.*)\1$/s, "$2")
  const texts: readonly (readonly [hint: string, text: string, encoding: KeyEncoding])[] = [
    ["without the white space or quotes around it", bare, encoding],
    ["without its `whsec_` prefix", bare.replace(/^whsec_/, ""), "utf8"],
    ["with a `whsec_` prefix", `whsec_${bare}`, "utf8"],
    ["as a verbatim string", bare, "utf8"],
    ["base64-decoded after its prefix", bare, "whsec"],
    ["decoded from hexadecimal", bare, "hex"],
  ]
  const ownKey = keyBytes(secret, encoding)
  const variants: KeyVariant[] = []
  for (const [hint, text, as] of texts) {
    const key = keyBytes(text, as)
    if (key && !(ownKey && key.equals(ownKey)) && !variants.some((earlier) => earlier.key.equals(key))) variants.push({ hint, key })
  }
  return variants
}
