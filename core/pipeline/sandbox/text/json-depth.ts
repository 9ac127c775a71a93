// Measures the nesting of JSON text without a parse. A parsed value could return other values on a second read. Recursion would
// overflow on a hostile text.

/** Limit of parsers, templates and both stores. MongoDB allows a hundred levels. */
export const maxDepth = 100

/** Valid only for JSON text. For other text the answer may be wrong. */
export function nestsTooDeep(text: string): boolean {
  // Each level needs at least two characters, including an opening bracket. This search takes a tenth of the full walk.
  if (text.length <= maxDepth * 2 || opens(text, "{") + opens(text, "[") <= maxDepth) return false
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22:
        i = endOfString(text, i)
        break
      case 0x5b:
      case 0x7b:
        if (++depth > maxDepth) return true
        break
      case 0x5d:
      case 0x7d:
        depth--
    }
  }
  return false
}

/** Counts a bracket in a text, including in strings. Stops after the limit plus one. */
function opens(text: string, bracket: string): number {
  let count = 0
  for (let at = text.indexOf(bracket); at >= 0 && count <= maxDepth; at = text.indexOf(bracket, at + 1)) count++
  return count
}

/** Returns the index of the closing quotation mark of a string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}
