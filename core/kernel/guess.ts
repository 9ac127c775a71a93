// "Did you mean": the nearest known word, when it is near enough to have been meant.
import { closest, distance } from "fastest-levenshtein"

/** The likely meant one, or undefined when nothing is within a third of the word's length (at least one letter). */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const best = closest(word, [...known])
  return distance(word, best) <= Math.max(1, Math.floor(word.length / 3)) ? best : undefined
}

/** ` Did you mean "x"?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known)
  return meant === undefined ? "" : ` Did you mean "${meant}"?`
}
