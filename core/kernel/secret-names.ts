// Detects secret fields by their names. Logs, journal, audit log and printed settings share this list. Values of these fields
// never leave the process in clear text.

/** Ignores case, dashes and underscores, so `X-Api-Key` and `apiKey` equal `api_key`. */
const secretEnding =
  /(?:authorization|cookies?|passwords?|passwd|passphrase|secrets?|token|credentials|signature|(?:access|account|admin|api|auth|bootstrap|encryption|master|private|secret|service|signing|webhook)keys?|cardnumber)$/
/** Whole words only, since other words have the same ending. */
const secretLastWord = /(?:^|[-_. ])(?:[a-z]+[-_. ]auth|jwt|pwd|x-?auth|cvc|cvv|ssn)$/
const known = new Map<string, boolean>()
const maxNameLength = 200

/**
 * Returns true if a field or header of this name is secret: `x-api-key`, `x-custom-auth`, `webhook_token`; but not `author`,
 * `token_count`, `secret_id`.
 */
export function isSecretName(whole: string): boolean {
  // Only the end of a name matters. Cached names must be short, since names also come from outside.
  const name = whole.length > maxNameLength ? whole.slice(-maxNameLength) : whole
  const before = known.get(name)
  if (before !== undefined) return before
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase()
  const secret = secretEnding.test(words.replaceAll(/[-_. ]/g, "")) || secretLastWord.test(words)
  if (known.size >= 2_000) known.clear()
  known.set(name, secret)
  return secret
}

/**
 * Matches a colon or equals sign after a name with a secret ending. An escape may spell any name. Searching for the sign takes
 * less than half the time of searching for the names. No two parts before the sign match the same character. Otherwise a long row
 * of spaces would backtrack through each division.
 */
const mayName =
  /[:=](?<=(?:authorization|cookies?|passwords?|passwd|passphrase|secrets?|token|credentials|signature|keys?|number|auth|jwt|pwd|cvc|cvv|ssn)[-_.\s]*(?:["']\s*)?[:=])|\\u/i

/** Returns false if the text certainly names no secret. This avoids parsing most texts. */
export function mayNameSecret(text: string): boolean {
  return mayName.test(text)
}

/** Returns true if a field at any depth has a secret name. */
export function namesSecret(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > maxDepth) return false
  if (Array.isArray(value)) return value.some((item) => namesSecret(item, depth + 1))
  for (const name in value) if (isSecretName(name) || namesSecret((value as Record<string, unknown>)[name], depth + 1)) return true
  return false
}

/** Replaces a secret value. */
export const redacted = "[redacted]"
const maxDepth = 100

/**
 * Replaces the values of secret names at any depth. Returns the same value if it has no secret names. Values nested deeper than
 * 100 levels are left out.
 */
export function redactSecrets<T>(value: T, depth = 0): T {
  if (typeof value !== "object" || value === null) return value
  if (depth >= maxDepth) return "[deeper]" as T
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => redactSecrets(item, depth + 1))
    return items.every((item, at) => item === value[at]) ? value : (items as T)
  }
  const out: Record<string, unknown> = {}
  let changed = false
  for (const [name, inner] of Object.entries(value)) {
    const shown = isSecretName(name) && inner !== null && typeof inner !== "boolean" ? redacted : redactSecrets<unknown>(inner, depth + 1)
    if (shown !== inner) changed = true
    Object.defineProperty(out, name, { value: shown, enumerable: true, configurable: true, writable: true })
  }
  return changed ? (out as T) : value
}
