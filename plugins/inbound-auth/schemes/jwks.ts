// Reads a JWK, or a set of them, from text. Private and symmetric keys are refused: they would be somebody's secret.
import type { JWK } from "jose"
import { parsedJson } from "#core"

/** Returns undefined if the text holds no public key. */
export function parseJwks(text: string): JWK[] | undefined {
  const parsed = parsedJson(text)
  if (typeof parsed !== "object" || parsed === null) return undefined
  const { keys } = parsed as { keys?: unknown }
  const list: unknown[] = Array.isArray(keys) ? keys : [parsed]
  const publicKeys = list.filter(isPublicJwk)
  return publicKeys.length > 0 ? publicKeys : undefined
}

function isPublicJwk(value: unknown): value is JWK {
  if (typeof value !== "object" || value === null) return false
  const { kty, d, k } = value as Record<string, unknown>
  return (kty === "EC" || kty === "RSA") && d === undefined && k === undefined
}
