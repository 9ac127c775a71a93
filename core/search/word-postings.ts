// Postings of words. The words are sorted in one buffer for a binary search. The postings of a word are gaps between items,
// with frequencies.
import { NumberReader, NumberWriter } from "./packing.ts"

/** The stored form in a segment. */
export interface WordPostings {
  readonly words: Uint8Array
  readonly wordEnds: Uint32Array
  /** Number of items of each word. */
  readonly wordItems: Uint32Array
  readonly postings: Uint8Array
  readonly postingEnds: Uint32Array
}

export class WordIndex {
  readonly #packed: WordPostings

  constructor(packed: WordPostings) {
    this.#packed = packed
  }

  /** Returns the position of a word, or -1 if no item has it. */
  wordAt(word: Buffer): number {
    const { words, wordEnds } = this.#packed
    let [low, high] = [0, wordEnds.length - 1]
    while (low <= high) {
      const middle = (low + high) >>> 1
      const order = word.compare(words, middle === 0 ? 0 : wordEnds[middle - 1], wordEnds[middle])
      if (order === 0) return middle
      if (order < 0) high = middle - 1
      else low = middle + 1
    }
    return -1
  }

  /** Returns the number of items with the word at a position. */
  itemsWith(place: number): number {
    return this.#packed.wordItems[place] ?? 0
  }

  /** Adds the BM25 score of a word to each item with this word. `norms` are the items' length norms. */
  addScores(place: number, weight: number, norms: Float64Array, scores: Float64Array): void {
    const { postings, postingEnds } = this.#packed
    const end = postingEnds[place] ?? 0
    let at = place === 0 ? 0 : (postingEnds[place - 1] ?? 0)
    let item = -1
    // Like `each`, but without a call per number: a search spends most of its time here.
    while (at < end) {
      let byte = postings[at++] as number
      let value = byte & 127
      for (let shift = 7; byte > 127; shift += 7) {
        byte = postings[at++] as number
        value |= (byte & 127) << shift
      }
      item += value
      byte = postings[at++] as number
      let frequency = byte & 127
      for (let shift = 7; byte > 127; shift += 7) {
        byte = postings[at++] as number
        frequency |= (byte & 127) << shift
      }
      scores[item] = (scores[item] as number) + (weight * frequency) / (frequency + (norms[item] as number))
    }
  }

  /** Calls `take` for each item with the word, with the frequency in this item. */
  each(place: number, take: (at: number, frequency: number) => void): void {
    const { postings, postingEnds } = this.#packed
    const reader = new NumberReader(postings, place === 0 ? 0 : postingEnds[place - 1], postingEnds[place])
    for (let item = -1; !reader.atEnd; ) {
      item += reader.next()
      take(item, reader.next())
    }
  }

  /** Returns all words in order of position. */
  *words(): Generator<string> {
    const { words, wordEnds } = this.#packed
    let begin = 0
    for (const end of wordEnds) {
      yield Buffer.from(words.subarray(begin, end)).toString("utf8")
      begin = end
    }
  }
}

/** Packs postings. `lists`: for each word, items and frequencies in turn. */
export function wordPostings(lists: ReadonlyMap<string, readonly number[]>): WordPostings {
  const sorted = [...lists.keys()].map((word) => ({ word, bytes: Buffer.from(word) })).sort((a, b) => a.bytes.compare(b.bytes))
  const [wordEnds, wordItems, postingEnds] = [0, 0, 0].map(() => new Uint32Array(sorted.length)) as [Uint32Array, Uint32Array, Uint32Array]
  const out = new NumberWriter()
  let wordEnd = 0
  for (const [place, { word, bytes }] of sorted.entries()) {
    wordEnd += bytes.length
    wordEnds[place] = wordEnd
    let before = -1
    const list = lists.get(word) ?? []
    wordItems[place] = list.length / 2
    for (let at = 0; at < list.length; at += 2) {
      const item = list[at] ?? 0
      out.add(item - before)
      out.add(list[at + 1] ?? 0)
      before = item
    }
    postingEnds[place] = out.length
  }
  const text = new Uint8Array(Buffer.concat(sorted.map(({ bytes }) => bytes)))
  return { words: text, wordEnds, wordItems, postings: new Uint8Array(out.bytes()), postingEnds }
}
