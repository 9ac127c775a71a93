// Finds integers that a JSON parser would round: above 2^53 a number cannot represent every digit.
const longInteger = /\d{16}/
const integer = /^-?(?:\d+|0[xo][\da-f]+)$/i

/** An integer in JSON text with a different parsed value. */
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
  // The object or list at the current end of the path. JSON.parse visits it after its members.
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
 * Returns true if the number differs from the integer in the source (decimal, or hexadecimal or octal as in YAML). A source equal
 * to the number's own text is never rounded.
 */
export function isRounded(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) || !integer.test(source) || String(value) === source) return false
  return !Number.isFinite(value) || BigInt(value) !== BigInt(source)
}
