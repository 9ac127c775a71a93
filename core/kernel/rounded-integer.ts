// Finds integers that a JSON parser would round: above 2^53 a number has no room for every digit.
const longInteger = /\d{16}/
const integer = /^-?\d+$/

/** An integer of a JSON text that would be stored as another one. */
export interface RoundedInteger {
  /** Its field; the position in a list for an item of a list. */
  readonly field: string
  readonly digits: string
}

/** Returns the first integer that parsing rounds. The text must be JSON. */
export function roundedInteger(text: string): RoundedInteger | undefined {
  if (!longInteger.test(text)) return undefined
  let found: RoundedInteger | undefined
  JSON.parse(text, (field, value: unknown, context?: { source?: string }) => {
    const digits = context?.source
    if (found || typeof value !== "number" || Number.isSafeInteger(value) || digits === undefined || !integer.test(digits)) return value
    if (!Number.isFinite(value) || BigInt(value) !== BigInt(digits)) found = { field, digits }
    return value
  })
  return found
}
