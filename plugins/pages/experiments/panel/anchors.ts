// Derives a likelihood to act from an answer's text. The answer is compared with five statements from "certainly not" to
// "certainly".
// The similarities become the distribution over five points (method of arXiv 2510.08338, semantic similarity rating).
// Two sets of statements are averaged, to reduce the effect of a single wording.

import { cosine } from "../statistics/cosine.ts"

export const points = [1, 2, 3, 4, 5] as const

export const anchorSets: readonly (readonly string[])[] = [
  [
    "I would certainly not take the step that this page asks for.",
    "I would probably not take the step that this page asks for.",
    "I might or might not take the step that this page asks for.",
    "I would probably take the step that this page asks for.",
    "I would certainly take the step that this page asks for.",
  ],
  [
    "I'd leave right away; nothing here is for me.",
    "I'd most likely leave; it doesn't convince me.",
    "I'm undecided; I'd need to know more.",
    "I'm interested and would most likely go on.",
    "I'm convinced and would sign up on the spot.",
  ],
]

/** Returns probabilities of the five points. `anchors`: vectors of one set. */
function distributionOf(answer: readonly number[], anchors: readonly (readonly number[])[]): number[] {
  const likeness = anchors.map((anchor) => cosine(answer, anchor))
  const least = Math.min(...likeness)
  const above = likeness.map((value) => value - least)
  const sum = above.reduce((total, value) => total + value, 0)
  return sum > 0 ? above.map((value) => value / sum) : above.map(() => 1 / above.length)
}

/** Returns the mean over the sets. */
export function rated(answer: readonly number[], sets: readonly (readonly (readonly number[])[])[]): number[] {
  const distributions = sets.map((anchors) => distributionOf(answer, anchors))
  return points.map((_, place) => distributions.reduce((sum, distribution) => sum + (distribution[place] ?? 0), 0) / distributions.length)
}

/** Returns a value from 1 to 5. */
export function expected(distribution: readonly number[]): number {
  return distribution.reduce((sum, chance, place) => sum + chance * (points[place] ?? 0), 0)
}
