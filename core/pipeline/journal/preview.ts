// Previews: what of a payload or an answer may stand in a journal entry. Values of fields named like secrets are cut,
// long texts are capped. Most payloads name no secret, and pass without being parsed again.
import type { Json } from "../../contract/collection.ts"
import { isSecretName, mayNameSecret, redacted, redactSecrets } from "../../kernel/secret-names.ts"

const maxText = 2_000
const maxResult = 4_000

/** Of JSON text, as it is when nothing in it is named like a secret. */
export function previewOfText(text: string, maxLength = maxText): string {
  // What is cut off need not be looked at.
  if (!mayNameSecret(text.length <= maxLength ? text : text.slice(0, maxLength))) return cap(text, maxLength)
  return cap(redactedText(text), maxLength)
}

/** JSON text without the values of fields named like secrets; the text itself where there are none. */
export function redactedText(text: string): string {
  if (!mayNameSecret(text)) return text
  try {
    const value = JSON.parse(text) as Json
    const shown = redactSecrets(value)
    return shown === value ? text : JSON.stringify(shown)
  } catch {
    return text.replace(/["']?([\w-]+)["']?\s*[:=]\s*(["'][^"']*["']|[^\s,&}]+)/g, (all: string, name: string, value: string) =>
      isSecretName(name) ? `${all.slice(0, all.length - value.length)}${redacted}` : all,
    )
  }
}

/** Of a value that has its JSON text at hand: the value itself when it is small and names no secret. */
export function previewOfValue(value: Json, text: string): Json {
  if (text.length > maxResult) return previewOfText(text)
  return mayNameSecret(text) ? redactSecrets(value) : value
}

function cap(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`
}
