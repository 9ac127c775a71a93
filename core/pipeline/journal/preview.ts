// Previews: what of a payload or an answer may stand in a journal entry. Values of fields named like secrets are cut,
// long texts are capped. Most payloads name no secret, and pass without being parsed again.
import type { Json } from "../../contract/collection.ts"
import { secretNames } from "../../kernel/log.ts"

const maxText = 2_000
const maxResult = 4_000
const secretName = new RegExp(`(${[...secretNames, "passwd", "pwd", "card_number", "cvc", "cvv", "ssn"].join("|")})["']?\\s*[:=]`, "i")
const secretKey = new RegExp(`^(${[...secretNames, "passwd", "pwd", "card_number", "cvc", "cvv", "ssn"].join("|")})$`, "i")
const redacted = "[redacted]"

/** Of JSON text, as it is when nothing in it is named like a secret. */
export function previewOfText(text: string, maxLength = maxText): string {
  if (!namesSecret(text, maxLength)) return cap(text, maxLength)
  try {
    return cap(JSON.stringify(redact(JSON.parse(text) as Json)), maxLength)
  } catch {
    return cap(
      text.replace(/(["']?[\w-]+["']?\s*[:=]\s*)(["'][^"']*["']|[^\s,&}]+)/g, (all, name: string) =>
        secretName.test(name) ? `${name}${redacted}` : all,
      ),
      maxLength,
    )
  }
}

/** Of a value that has its JSON text at hand: the value itself when it is small and names no secret. */
export function previewOfValue(value: Json, text: string): Json {
  if (text.length > maxResult) return cap(namesSecret(text, maxText) ? JSON.stringify(redact(value)) : text, maxText)
  return secretName.test(text) ? redact(value) : value
}

/** Within what is shown of it: what is cut off need not be looked at. */
function namesSecret(text: string, length: number): boolean {
  return secretName.test(text.length <= length ? text : text.slice(0, length))
}

export function redact(value: Json): Json {
  if (Array.isArray(value)) return value.map(redact)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, secretKey.test(key) ? redacted : redact(inner)]))
}

function cap(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`
}
