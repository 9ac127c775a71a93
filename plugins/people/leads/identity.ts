// The mail address or phone number by which a person is found, each in one spelling.
import { isMailAddress, normalAddress, visibleText } from "../email/index.ts"

const identityKinds = ["email", "phone"] as const

export interface Identity {
  readonly kind: (typeof identityKinds)[number]
  readonly value: string
}

const maxLength = 320
/** A link or a named address may be longer. */
const maxWrittenLength = 1_000

/** Lower case, NFC, the domain in punycode. Reads `mailto:` and `Name <address>`. undefined for text without one address. */
export function normalEmail(text: string): string | undefined {
  if (text.length > maxWrittenLength) return undefined
  const visible = readable(text)
  const address = linked(/^[^<>]*<([^<>]*)>$/.exec(visible)?.[1]?.trim() ?? visible)
  return address.length <= maxLength && isMailAddress(address) ? normalAddress(address) : undefined
}

/** The address of a `mailto:` link, or the text. */
function linked(text: string): string {
  if (!/^mailto:/i.test(text)) return text
  const encoded = text.slice("mailto:".length).replace(/\?.*$/s, "")
  try {
    return readable(decodeURIComponent(encoded))
  } catch {
    return encoded
  }
}

function readable(text: string): string {
  return visibleText(text.replaceAll("\u00A0", "")).trim()
}
