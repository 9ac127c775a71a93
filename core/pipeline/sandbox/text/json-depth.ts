// How deep a JSON text nests, counted in the text: values can be read twice and say two things, and no recursion is deep
// enough for what a sender writes.

/** What parsing, templates and both stores carry; MongoDB's documents nest to a hundred levels. */
export const maxDepth = 100

/** Of a text that is JSON; of another, an answer that may be wrong. */
export function nestsTooDeep(text: string): boolean {
  // Each level is two characters at least, one of them a bracket that opens; a search is a tenth of reading on.
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

/** How often a bracket stands in a text, in strings too; counts no further than is one too many. */
function opens(text: string, bracket: string): number {
  let count = 0
  for (let at = text.indexOf(bracket); at >= 0 && count <= maxDepth; at = text.indexOf(bracket, at + 1)) count++
  return count
}

/** The place of the quotation mark that ends the string which begins here. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}
