// "Did you mean": suggests the nearest known word, if it is near enough.
import { distance } from "fastest-levenshtein"

/** Longer words get no suggestion, since the comparison is slow. */
const maxWord = 100

/** Returns the likely intended word. Undefined if no word is within a third of the word's length (at least one letter). */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > maxWord) return undefined
  const [best] = known.map((one) => ({ one, apart: apart(word, one) })).sort((left, right) => left.apart - right.apart)
  return best !== undefined && best.apart <= Math.max(1, Math.floor(word.length / 3)) ? best.one : undefined
}

/** Returns the edits between two words. Two swapped neighbouring letters count as one edit. */
function apart(word: string, other: string): number {
  const at = [...other].findIndex((letter, n) => letter !== word[n])
  const swapped = word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2)
  return at >= 0 && swapped === other ? 1 : distance(word, other)
}

/** Returns ` Did you mean "x"?`, or an empty text. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known)
  return meant === undefined ? "" : ` Did you mean "${meant}"?`
}
