// Parses JSON of other systems without rounding: an integer beyond 2^53 becomes the text of its digits, so an id keeps each digit.
const longInteger = /\d{16}/
const integer = /^-?\d+$/

/** Throws SyntaxError. */
export function exactJson(text: string): unknown {
  return longInteger.test(text) ? JSON.parse(text, digitsOfLongInteger) : JSON.parse(text)
}

function digitsOfLongInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value
  const source = context?.source
  return source !== undefined && integer.test(source) ? source : value
}
