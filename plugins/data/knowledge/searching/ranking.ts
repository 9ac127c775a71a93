// Which items answer a query best: by their words (BM25), by their vectors where there are any, and by both joined (reciprocal
// rank fusion). Pure.
//
// BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009. Fusion: Cormack, Clarke and Büttcher, SIGIR 2009.
import type { Segment } from "../indexing/segment.ts"

const k1 = 1.2
const b = 0.75
/** Of fusion, as published. */
const fusionConstant = 60
/** Vectors that are compared before other work may run. */
const comparedAtOnce = 256
/** Items that a query finds at most. */
const maxHits = 1_000

export interface Selection {
  readonly category: string
  readonly type: string
}

export interface Hit {
  readonly id: string
  readonly entry: number
  readonly score: number
  readonly segment: Segment
  readonly at: number
}

/** Of a word in one item; for people. */
export interface WordScore {
  readonly word: string
  /** How often it occurs there; in the title counts more. */
  readonly frequency: number
  /** Items that have it. */
  readonly items: number
  readonly score: number
}

interface Term {
  readonly word: string
  /** By segment. */
  readonly places: readonly number[]
  readonly items: number
  readonly idf: number
  /** How often it was asked for. */
  readonly times: number
}

/** What a query's words are worth among these segments. */
export class WordQuery {
  readonly #segments: readonly Segment[]
  readonly #terms: readonly Term[]
  readonly #averageLength: number

  constructor(segments: readonly Segment[], words: readonly string[]) {
    this.#segments = segments
    const total = segments.reduce((sum, { count }) => sum + count, 0)
    this.#averageLength = segments.reduce((sum, { totalLength }) => sum + totalLength, 0) / Math.max(1, total)
    const queryCounts = new Map<string, number>()
    for (const word of words) queryCounts.set(word, (queryCounts.get(word) ?? 0) + 1)
    this.#terms = [...queryCounts].map(([word, times]) => {
      const bytes = Buffer.from(word)
      const places = segments.map((segment) => segment.wordAt(bytes))
      let items = 0
      for (const [index, place] of places.entries()) if (place >= 0) items += segments[index]?.itemsWith(place) ?? 0
      return { word, places, items, times, idf: Math.log(1 + (total - items + 0.5) / (items + 0.5)) }
    })
  }

  /** The best, best first. */
  best(selection: Selection): Hit[] {
    const best = new Best(maxHits)
    for (const [index, segment] of this.#segments.entries()) {
      const scores = new Float64Array(segment.count)
      // Not `Float64Array.from` with a function, which takes longer than the scores do.
      const { lengths } = segment
      const norms = new Float64Array(lengths.length)
      for (let at = 0; at < lengths.length; at++) norms[at] = this.#norm(lengths[at] as number)
      for (const { places, idf, times } of this.#terms) {
        const place = places[index] ?? -1
        if (place >= 0) segment.addScores(place, times * idf * (k1 + 1), norms, scores)
      }
      const selected = segment.selection(selection)
      for (let at = 0; at < scores.length; at++) {
        const score = scores[at] ?? 0
        if (score > 0 && score > best.least && (!selected || selected(at))) best.add(score, segment, at)
      }
    }
    return best.sorted()
  }

  /** How the words of one item make its score. */
  explain({ segment, at }: Pick<Hit, "segment" | "at">): WordScore[] {
    const index = this.#segments.indexOf(segment)
    const norm = this.#norm(segment.lengths[at] ?? 0)
    return this.#terms.flatMap(({ word, places, items, idf, times }) => {
      let frequency = 0
      const place = places[index] ?? -1
      if (place >= 0)
        segment.each(place, (item, often) => {
          if (item === at) frequency = often
        })
      return frequency === 0 ? [] : [{ word, frequency, items, score: (times * idf * frequency * (k1 + 1)) / (frequency + norm) }]
    })
  }

  #norm(length: number): number {
    return k1 * (1 - b + (b * length) / this.#averageLength)
  }
}

/** The items whose vectors are nearest to one of length one, nearest first; the score is the cosine. */
export async function nearest(
  segments: readonly Segment[],
  vector: Float32Array,
  selection: Selection,
  pause: () => Promise<void>,
): Promise<Hit[]> {
  const best = new Best(maxHits)
  const { length } = vector
  const query = Int16Array.from(vector, (value) => Math.round(value * 127))
  for (const segment of segments) {
    if (segment.dimensions !== length) continue
    const { vectors, count } = segment
    const selected = segment.selection(selection)
    for (let at = 0; at < count; at++) {
      if (at % comparedAtOnce === 0) await pause()
      let sum = 0
      const begin = at * length
      for (let place = 0; place < length; place++) sum += (vectors[begin + place] ?? 0) * (query[place] ?? 0)
      const score = sum / 16_129
      if (score > 0 && score > best.least && (!selected || selected(at))) best.add(score, segment, at)
    }
  }
  return best.sorted()
}

/** Each item's ranks in both lists as one score. */
export function fused(lists: readonly (readonly Hit[])[]): Hit[] {
  const byItem = new Map<string, Hit>()
  for (const list of lists)
    for (const [rank, hit] of list.entries()) {
      const key = `${hit.id} ${hit.entry}`
      const score = (byItem.get(key)?.score ?? 0) + 1 / (fusionConstant + rank + 1)
      byItem.set(key, { ...hit, score })
    }
  return [...byItem.values()].sort(byScore).slice(0, maxHits)
}

/** Equal scores by id, so that pages meet. */
function byScore(a: Hit, other: Hit): number {
  return other.score - a.score || (a.id < other.id ? -1 : a.id > other.id ? 1 : 0)
}

/** Holds the best so many: a heap with the least of them at its root. */
class Best {
  readonly #max: number
  readonly #heap: { readonly score: number; readonly segment: Segment; readonly at: number }[] = []

  constructor(max: number) {
    this.#max = max
  }

  get least(): number {
    return this.#heap.length < this.#max ? 0 : (this.#heap[0]?.score ?? 0)
  }

  add(score: number, segment: Segment, at: number): void {
    const heap = this.#heap
    if (heap.length < this.#max) {
      heap.push({ score, segment, at })
      for (let place = heap.length - 1; place > 0; ) {
        const parent = (place - 1) >>> 1
        if (!this.#swapped(parent, place)) return
        place = parent
      }
      return
    }
    heap[0] = { score, segment, at }
    for (let place = 0; ; ) {
      const [left, right] = [2 * place + 1, 2 * place + 2]
      const child = (heap[right]?.score ?? Number.POSITIVE_INFINITY) < (heap[left]?.score ?? Number.POSITIVE_INFINITY) ? right : left
      if (child >= heap.length || !this.#swapped(place, child)) return
      place = child
    }
  }

  sorted(): Hit[] {
    return this.#heap
      .map(({ score, segment, at }) => ({ id: segment.idAt(at), entry: segment.entryAt(at), score, segment, at }))
      .sort(byScore)
  }

  /** Whether the upper one was greater, and is below now. */
  #swapped(upper: number, lower: number): boolean {
    const [above, below] = [this.#heap[upper], this.#heap[lower]]
    if (!above || !below || above.score <= below.score) return false
    this.#heap[upper] = below
    this.#heap[lower] = above
    return true
  }
}
