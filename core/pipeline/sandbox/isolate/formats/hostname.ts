// `hostname` (RFC 1123, with A-labels checked) and `idn-hostname` (RFC 5890 to 5893: IDNA2008).
import { decode, encode } from "punycode/punycode.es6.js"
import { breaksBidiRule, isUnicodeLabel } from "./unicode-label.ts"

const maxNameLength = 253
const maxLabelLength = 63
const asciiLabel = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII.
const ascii = /^[\u0000-\u007f]*$/
// RFC 3490, section 3.1: equivalents of the full stop.
const stops = /[.\u3002\uff0e\uff61]/

export function isHostname(text: string): boolean {
  return ascii.test(text) && isName(text.split("."))
}

export function isIdnHostname(text: string): boolean {
  return text.length <= maxNameLength * 4 && isName(text.split(stops))
}

function isName(labels: readonly string[]): boolean {
  let length = labels.length - 1
  const shown: string[] = []
  for (const label of labels) {
    const read = readLabel(label)
    if (!read) return false
    length += read.length
    shown.push(read.unicode)
  }
  return length <= maxNameLength && !breaksBidiRule(shown)
}

/** Returns a label's length in ASCII form and its Unicode form. Returns undefined for an invalid label. */
function readLabel(label: string): { length: number; unicode: string } | undefined {
  if (label === "" || label.length > maxLabelLength) return undefined
  if (!ascii.test(label)) {
    const length = encode(label).length + 4
    return length <= maxLabelLength && isUnicodeLabel(label) ? { length, unicode: label } : undefined
  }
  if (!asciiLabel.test(label)) return undefined
  if (label.slice(2, 4) !== "--") return { length: label.length, unicode: label }
  if (!/^xn--/i.test(label)) return undefined
  const encoded = label.slice(4).toLowerCase()
  const unicode = decoded(encoded)
  if (unicode === undefined || ascii.test(unicode) || encode(unicode) !== encoded) return undefined
  return isUnicodeLabel(unicode) ? { length: label.length, unicode } : undefined
}

function decoded(encoded: string): string | undefined {
  try {
    return decode(encoded)
  } catch {
    return undefined
  }
}
