// Previews: what of a payload or an answer may stand in a journal entry. Values of fields named like secrets are cut,
// long texts are capped. Most payloads name no secret, and pass without being parsed again.
import type { Json } from "../../contract/collection.ts"
import { mayNameSecret, redactSecrets } from "../../kernel/secret-names.ts"
import { textWithoutSecrets } from "../../kernel/text-redaction.ts"

const maxText = 2_000
const maxResult = 4_000

/** Of JSON text, as it is when nothing in it is named like a secret. */
export function previewOfText(text: string, maxLength = maxText): string {
  // What is cut off need not be looked at.
  const head = text.length <= maxLength ? text : text.slice(0, maxLength)
  const shown = mayNameSecret(head) ? textWithoutSecrets(text, maxLength) : text
  return shown.length <= maxLength ? shown : `${shown.slice(0, maxLength)}… (${text.length} characters)`
}

/** Of a value that has its JSON text at hand: the value itself when it is small and names no secret. */
export function previewOfValue(value: Json, text: string): Json {
  if (text.length > maxResult) return previewOfText(text)
  return mayNameSecret(text) ? redactSecrets(value) : value
}
