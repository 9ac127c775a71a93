// "Did you mean": the nearest known word, when it is near enough to have been meant.
import { distance } from "fastest-levenshtein"

/** Nobody means a name that is longer, and comparing it takes time. */
const maxWord = 100

/** The likely meant one, or undefined when nothing is within a third of the word's length (at least one letter). */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > maxWord) return undefined
  const [best] = known.map((one) => ({ one, apart: apart(word, one) })).sort((left, right) => left.apart - right.apart)
  return best !== undefined && best.apart <= Math.max(1, Math.floor(word.length / 3)) ? best.one : undefined
}

/** Edits between the two; two neighbouring letters that changed places are one slip. */
function apart(word: string, other: string): number {
  const at = [...other].findIndex((letter, n) => letter !== word[n])
  const swapped = word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2)
  return at >= 0 && swapped === other ? 1 : distance(word, other)
}

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known)
  return meant === undefined ? "" : ` Did you mean "${meant}"?`
}
