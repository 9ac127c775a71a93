// JSON without loss of digits: a number that JavaScript would round or rewrite comes back as the string that stood in
// the text, so that 64-bit ids and signed amounts keep every digit.

const maybeLossy = /\d{16}|\d[.eE]|-0/

/** The parsed text, or undefined when it is not JSON. */
export function parseLossless(text: string): unknown {
  try {
    return maybeLossy.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
  } catch {
    return undefined
  }
}

function keepDigits(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value
  return String(value) === context.source ? value : context.source
}
