// Which fields hold secrets, told by their names: the one list for logs, journal, audit log and printed settings. Values
// of such fields never leave the process in clear.

/** Compared without regard to case, dashes and underscores, so that `X-Api-Key` and `apiKey` are `api_key`. */
const secretEnding =
  /(?:authorization|cookies?|passwords?|passwd|passphrase|secrets?|token|credentials|signature|(?:access|account|admin|api|auth|bootstrap|encryption|master|private|secret|service|signing|webhook)keys?|cardnumber)$/
/** Whole words only: other words end so too. */
const secretLastWord = /(?:^|[-_. ])(?:[a-z]+[-_. ]auth|jwt|pwd|x-?auth|cvc|cvv|ssn)$/
const known = new Map<string, boolean>()
const maxNameLength = 200

/** Whether a field or header of this name holds a secret: `x-api-key`, `x-custom-auth`, `webhook_token`; not `author`, `token_count`, `secret_id`. */
export function isSecretName(whole: string): boolean {
  // The end decides, and what is remembered must be small: names come from outside as well.
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
 * A colon or equals sign behind a name that isSecretName knows by its last letters; an escape may spell anything. Searched by
 * the sign, which takes less than half of the time that the names take. No two parts before it match the same character, or
 * a long row of spaces would be tried in each way to divide it.
 */
const mayName =
  /[:=](?<=(?:authorization|cookies?|passwords?|passwd|passphrase|secrets?|token|credentials|signature|keys?|number|auth|jwt|pwd|cvc|cvv|ssn)[-_.\s]*(?:["']\s*)?[:=])|\\u/i

/** False for text that surely names no secret: most does not, and need not be parsed to know. */
export function mayNameSecret(text: string): boolean {
  return mayName.test(text)
}

/** Whether anything in the value stands under such a name. */
export function namesSecret(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > maxDepth) return false
  if (Array.isArray(value)) return value.some((item) => namesSecret(item, depth + 1))
  for (const name in value) if (isSecretName(name) || namesSecret((value as Record<string, unknown>)[name], depth + 1)) return true
  return false
}

/** Stands for a value that is not shown. */
export const redacted = "[redacted]"
const maxDepth = 100

/** The value with those of secret names replaced, at any depth; the same value where there are none. What is nested more deeply than 100 levels is left out. */
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
