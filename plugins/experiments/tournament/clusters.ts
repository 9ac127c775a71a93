// Variants that read the same are judged once: comparing a page with its copy decides nothing. Pure.

export interface Merge {
  readonly merged_key: string
  readonly representative_key: string
  readonly method: string
  /** From 0 to 1. */
  readonly similarity: number
}

const sameFrom = 0.98
const shingleWords = 3

/** The first of the variants that are alike stands for them; `similarity` of two texts. */
export function mergesOf(texts: ReadonlyMap<string, string>, method: string, similarity: (one: string, other: string) => number): Merge[] {
  const representatives: string[] = []
  const merges: Merge[] = []
  for (const [key, text] of texts) {
    const alike = representatives
      .map((representative_key) => ({ representative_key, similarity: similarity(text, texts.get(representative_key) ?? "") }))
      .find((one) => one.similarity >= sameFrom)
    if (alike) merges.push({ merged_key: key, method, ...alike })
    else representatives.push(key)
  }
  return merges
}

/** Jaccard's index of the runs of three words. */
export function shingleSimilarity(one: string, other: string): number {
  const [a, b] = [shingles(one), shingles(other)]
  if (a.size === 0 && b.size === 0) return 1
  let both = 0
  for (const shingle of a) if (b.has(shingle)) both++
  return both / (a.size + b.size - both)
}

function shingles(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const count = Math.max(words.length - shingleWords + 1, words.length > 0 ? 1 : 0)
  return new Set(Array.from({ length: count }, (_, at) => words.slice(at, at + shingleWords).join(" ")))
}
