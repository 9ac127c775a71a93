// The 22-character reference of a lead: its UUID in base 62, so that it stands in a link, a subject or a command.
import { isUuid } from "#core"

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const length = 22
const base = BigInt(digits.length)

export function referenceOf(id: string): string {
  let rest = BigInt(`0x${id.replaceAll("-", "")}`)
  let text = ""
  for (let n = 0; n < length; n++) {
    text = digits.charAt(Number(rest % base)) + text
    rest /= base
  }
  return text
}

/** The id that a UUID, in either case, or a reference stands for; undefined for other texts. */
export function leadIdOf(text: string): string | undefined {
  const lower = text.toLowerCase()
  if (isUuid(lower)) return lower
  if (text.length !== length) return undefined
  let value = 0n
  for (const digit of text) {
    const at = digits.indexOf(digit)
    if (at < 0) return undefined
    value = value * base + BigInt(at)
  }
  if (value >= 1n << 128n) return undefined
  const hex = value.toString(16).padStart(32, "0")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
