// JSON with every digit. A number of JavaScript rounds integers beyond 2^53.

type Keep = (value: number, digits: string) => unknown

const { rawJSON } = JSON as typeof JSON & { readonly rawJSON?: (digits: string) => object }
const integer = /^-?\d+$/

/** Parses JSON for JSON.stringify: a number keeps its digits. Returns undefined if the text is not JSON. */
export function parseExact(text: string): unknown {
  return parse(text, (value, digits) => (rawJSON && String(value) !== digits ? rawJSON(digits) : value))
}

/** Parses JSON as the service reads an event: an integer beyond 2^53 becomes text. Returns undefined if the text is not JSON. */
export function parseEvent(text: string): unknown {
  return parse(text, (value, digits) => (integer.test(digits) && !Number.isSafeInteger(value) ? digits : value))
}

/** Returns JSON with one line for each field. Other text is unchanged. */
export function laidOut(text: string): string {
  const value = parseExact(text)
  return value === undefined ? text : JSON.stringify(value, null, 2)
}

/** Returns the number of a text. Returns undefined for other text and for a rounded integer. */
export function exactNumber(text: string): number | undefined {
  const value = Number(text)
  return text.trim() === "" || Number.isNaN(value) || isRounded(value, text.trim()) ? undefined : value
}

/** Returns true if the digits are an integer different from the number: decimal, hexadecimal or octal. */
export function isRounded(value: number, digits: string): boolean {
  if (Number.isSafeInteger(value) || !/^[-+]?(?:\d+|0[xo][\da-f]+)$/i.test(digits)) return false
  return !Number.isFinite(value) || BigInt(value) !== BigInt(digits.replace("+", ""))
}

/** Old browsers pass no digits; their numbers are rounded. */
function parse(text: string, keep: Keep): unknown {
  try {
    return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) =>
      typeof value === "number" && context?.source !== undefined ? keep(value, context.source) : value,
    ) as unknown
  } catch {
    return undefined
  }
}
