// Merges variants with the same text before the judging: comparing a page with its copy decides nothing.
import { AppError } from "#core"

import type { Models } from "../../../agents/models/index.ts"
import { cosine } from "../statistics/cosine.ts"

import type { VariantView } from "../variant-views.ts"

export interface Merge {
  readonly merged_key: string
  readonly representative_key: string
  readonly method: string
  /** From 0 to 1. */
  readonly similarity: number
}

const sameFrom = 0.98
const shingleWords = 3

/**
 * Compares embeddings if an embedding model is available and answers, otherwise words. If images are judged, they must be equal
 * as well.
 */
export async function foundMerges(
  models: Models,
  organization: string,
  views: ReadonlyMap<string, VariantView>,
  signal: AbortSignal,
): Promise<Merge[]> {
  const texts = new Map([...views].map(([key, { text }]) => [key, text]))
  const vectors = models.embedding() ? await vectorsOf(models, organization, [...new Set(texts.values())], signal) : undefined
  const alike = (first: string, second: string) =>
    vectors && first !== second ? cosine(vectors.get(first) ?? [], vectors.get(second) ?? []) : shingleSimilarity(first, second)
  const looksAlike = (first: string, second: string) => sameBytes(views.get(first)?.image, views.get(second)?.image)
  return mergesOf(texts, vectors ? "embedding" : "shingles", alike, looksAlike)
}

async function vectorsOf(models: Models, organization: string, texts: readonly string[], signal: AbortSignal) {
  try {
    const { value } = await models.embed(organization, texts, { signal })
    return new Map(texts.map((text, place) => [text, value[place] ?? []]))
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error
    return undefined
  }
}

function sameBytes(first: Uint8Array | undefined, second: Uint8Array | undefined): boolean {
  return first === second || (first !== undefined && second !== undefined && Buffer.compare(first, second) === 0)
}

/** The first of several equal variants represents them. `similarity`: of two texts. */
export function mergesOf(
  texts: ReadonlyMap<string, string>,
  method: string,
  similarity: (first: string, second: string) => number,
  mayBeSame: (key: string, other: string) => boolean = () => true,
): Merge[] {
  const representatives: string[] = []
  const merges: Merge[] = []
  for (const [key, text] of texts) {
    const alike = representatives
      .map((representative_key) => ({ representative_key, similarity: similarity(text, texts.get(representative_key) ?? "") }))
      .find((cluster) => cluster.similarity >= sameFrom && mayBeSame(key, cluster.representative_key))
    if (alike) merges.push({ merged_key: key, method, ...alike })
    else representatives.push(key)
  }
  return merges
}

/** Jaccard index of three-word shingles. */
export function shingleSimilarity(first: string, second: string): number {
  const [a, b] = [shingles(first), shingles(second)]
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
