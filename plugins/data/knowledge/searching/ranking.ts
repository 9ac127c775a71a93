// Ranks items for a query: by words (BM25), by vectors if present, and by both combined (reciprocal rank fusion). Pure.
//
// BM25: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009. Fusion: Cormack, Clarke and Büttcher, SIGIR 2009.
import type { Segment } from "../indexing/segment.ts"

const k1 = 1.2
const b = 0.75
/** Constant of the fusion, as published. */
const fusionConstant = 60
/** Vectors compared in one turn. Other work runs in between. */
const comparedAtOnce = 256
/** Maximum number of items per query. */
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

/** Score of a word in one item, for explanations. */
export interface WordScore {
  readonly word: string
  /** Frequency in the item. Words of the title count more. */
  readonly frequency: number
  /** Number of items with the word. */
  readonly items: number
  readonly score: number
}

interface Term {
  readonly word: string
  /** Position in each segment's word list. */
  readonly places: readonly number[]
  readonly items: number
  readonly idf: number
  /** Frequency in the query. */
  readonly times: number
}

/** Scores the words of a query in these segments. */
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

  /** Returns the best hits, best first. */
  best(selection: Selection): Hit[] {
    const best = new Best(maxHits)
    for (const [index, segment] of this.#segments.entries()) {
      const scores = new Float64Array(segment.count)
      // `Float64Array.from` with a function would take longer than the scoring.
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

  /** Returns each word's share of one item's score. */
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

/** Returns the items with the nearest vectors, nearest first. `vector` has length one, and the score is the cosine. */
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

/** Combines each item's ranks in both lists into one score. */
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

/** Sorts equal scores by ID, so pages do not overlap. */
function byScore(a: Hit, other: Hit): number {
  return other.score - a.score || (a.id < other.id ? -1 : a.id > other.id ? 1 : 0)
}

/** The best `max` hits, as a heap with the lowest score at its root. */
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

  /** Swaps the two entries if the upper score is greater. Returns true after a swap. */
  #swapped(upper: number, lower: number): boolean {
    const [above, below] = [this.#heap[upper], this.#heap[lower]]
    if (!above || !below || above.score <= below.score) return false
    this.#heap[upper] = below
    this.#heap[lower] = above
    return true
  }
}
