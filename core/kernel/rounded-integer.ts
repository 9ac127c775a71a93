// Finds integers that a JSON parser would round: above 2^53 a number has no room for every digit.
const longInteger = /\d{16}/
const integer = /^-?(?:\d+|0[xo][\da-f]+)$/i

/** An integer of a JSON text that would be stored as another one. */
export interface RoundedInteger {
  /** Path of its field, with dots; positions of lists count from 0. */
  readonly field: string
  readonly digits: string
}

/** Returns the first integer that parsing rounds. The text must be JSON. */
export function roundedInteger(text: string): RoundedInteger | undefined {
  if (!longInteger.test(text)) return undefined
  let digits: string | undefined
  const path: string[] = []
  // The object or list around what the path has so far. JSON.parse visits it after its members.
  let around: unknown
  JSON.parse(text, function (this: unknown, field, value: unknown, context?: { source?: string }) {
    if (digits !== undefined) {
      if (value !== around) return value
      if (field !== "") path.unshift(field)
      around = this
      return value
    }
    const source = context?.source
    if (typeof value !== "number" || source === undefined || !isRounded(value, source)) return value
    digits = source
    path.push(field)
    around = this
    return value
  })
  return digits === undefined ? undefined : { field: path.join("."), digits }
}

/**
 * Returns true if the number is not the integer of the source: decimal, or hexadecimal or octal as YAML writes them. A
 * source that the number is written as again keeps its digits.
 */
export function isRounded(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) || !integer.test(source) || String(value) === source) return false
  return !Number.isFinite(value) || BigInt(value) !== BigInt(source)
}
