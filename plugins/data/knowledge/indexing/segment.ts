// A segment: an inverted index of up to a few thousand items, made once and only read after that. The words lie sorted in one
// buffer and are found by halving; the postings of each are gaps between items and frequencies, as variable-length numbers.
import { serialize } from "node:v8"

export interface IndexedItem {
  /** The item's UUID. */
  readonly id: string
  /** Which indexing of the item this is; an item's latest counts. */
  readonly entry: number
  readonly category: string
  readonly type: string
  /** How often each word occurs; the title's count more. */
  readonly words: ReadonlyMap<string, number>
  /** Of length one; absent where no model is configured. */
  readonly vector?: Float32Array | undefined
}

/** As it is stored. */
export interface Packed {
  readonly version: 1
  readonly count: number
  /** Sixteen bytes each. */
  readonly ids: Uint8Array
  readonly entries: Uint32Array
  readonly lengths: Uint32Array
  readonly categories: readonly string[]
  readonly categoryOf: Uint16Array
  readonly types: readonly string[]
  readonly typeOf: Uint8Array
  readonly words: Uint8Array
  readonly wordEnds: Uint32Array
  /** How many items have each word. */
  readonly wordItems: Uint32Array
  readonly postings: Uint8Array
  readonly postingEnds: Uint32Array
  /** Numbers of a vector; 0: there are none. */
  readonly dimensions: number
  /** A hundred-and-twenty-seventh of one each; an item without a vector has zeros. */
  readonly vectors: Int8Array
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")

export class Segment {
  readonly #packed: Packed
  readonly totalLength: number

  constructor(packed: Packed) {
    this.#packed = packed
    this.totalLength = packed.lengths.reduce((sum, length) => sum + length, 0)
  }

  /** Takes long for long texts: runs in the index thread. */
  static make(items: readonly IndexedItem[]): Segment {
    const lists = new Map<string, number[]>()
    const count = items.length
    const [ids, entries, lengths] = [new Uint8Array(16 * count), new Uint32Array(count), new Uint32Array(count)]
    const [categories, types] = [new Map<string, number>(), new Map<string, number>()]
    const [categoryOf, typeOf] = [new Uint16Array(count), new Uint8Array(count)]
    const dimensions = items.find(({ vector }) => vector)?.vector?.length ?? 0
    const vectors = new Int8Array(dimensions * count)
    for (const [at, item] of items.entries()) {
      ids.set(Buffer.from(item.id.replaceAll("-", ""), "hex"), 16 * at)
      entries[at] = item.entry
      categoryOf[at] = numberOf(categories, item.category)
      typeOf[at] = numberOf(types, item.type)
      for (const [word, frequency] of item.words) {
        lengths[at] = (lengths[at] ?? 0) + frequency
        const list = lists.get(word)
        if (list) list.push(at, frequency)
        else lists.set(word, [at, frequency])
      }
      if (item.vector?.length === dimensions)
        for (const [place, value] of item.vector.entries()) vectors[at * dimensions + place] = Math.round(value * 127)
    }
    const inverted = invertedOf(lists)
    return new Segment({
      ...{ version: 1, count, ids, entries, lengths, categoryOf, typeOf, dimensions, vectors },
      ...{ categories: [...categories.keys()], types: [...types.keys()] },
      ...inverted,
    })
  }

  get count(): number {
    return this.#packed.count
  }

  get dimensions(): number {
    return this.#packed.dimensions
  }

  get vectors(): Int8Array {
    return this.#packed.vectors
  }

  get lengths(): Uint32Array {
    return this.#packed.lengths
  }

  /** About how much memory it takes. */
  get bytes(): number {
    const { words, postings, wordEnds, vectors, ids } = this.#packed
    return words.length + postings.length + 8 * wordEnds.length + vectors.length + 2 * ids.length
  }

  stored(): Buffer {
    return serialize(this.#packed)
  }

  idAt(at: number): string {
    const hex = hexOf(this.#packed.ids.subarray(16 * at, 16 * at + 16))
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }

  entryAt(at: number): number {
    return this.#packed.entries[at] ?? 0
  }

  /** Which items are of a category and a type; undefined: all. */
  selection({ category, type }: { readonly category: string; readonly type: string }): ((at: number) => boolean) | undefined {
    const { categories, categoryOf, types, typeOf } = this.#packed
    if (category === "" && type === "") return undefined
    const [wantedCategory, wantedType] = [categories.indexOf(category), types.indexOf(type)]
    return (at) => (category === "" || categoryOf[at] === wantedCategory) && (type === "" || typeOf[at] === wantedType)
  }

  /** The place of a word; -1 where no item has it. */
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

  /** How many items have the word at a place. */
  itemsWith(place: number): number {
    return this.#packed.wordItems[place] ?? 0
  }

  /** Adds what a word is worth to the score of each item that has it: BM25, the norms being those of the items' lengths. */
  addScores(place: number, weight: number, norms: Float64Array, scores: Float64Array): void {
    const { postings, postingEnds } = this.#packed
    const end = postingEnds[place] ?? 0
    let at = place === 0 ? 0 : (postingEnds[place - 1] ?? 0)
    let item = -1
    // As `each`, without a call for each item: this is where a search spends its time.
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

  /** Calls with each item that has the word, and how often. */
  each(place: number, take: (at: number, frequency: number) => void): void {
    const { postings, postingEnds } = this.#packed
    const end = postingEnds[place] ?? 0
    let at = place === 0 ? 0 : (postingEnds[place - 1] ?? 0)
    let item = -1
    while (at < end) {
      let [value, shift, byte] = [0, 0, 0]
      do {
        byte = postings[at++] ?? 0
        value |= (byte & 127) << shift
        shift += 7
      } while (byte > 127)
      item += value
      value = 0
      shift = 0
      do {
        byte = postings[at++] ?? 0
        value |= (byte & 127) << shift
        shift += 7
      } while (byte > 127)
      take(item, value)
    }
  }

  /** The items that are kept, as they were given. */
  items(keeps: (id: string, entry: number) => boolean): IndexedItem[] {
    const { count, categories, categoryOf, types, typeOf, words, wordEnds, dimensions, vectors } = this.#packed
    const kept: (IndexedItem & { readonly words: Map<string, number> })[] = []
    const byPlace: ((typeof kept)[number] | undefined)[] = []
    for (let at = 0; at < count; at++) {
      const [id, entry] = [this.idAt(at), this.entryAt(at)]
      if (!keeps(id, entry)) {
        byPlace.push(undefined)
        continue
      }
      const own = vectors.subarray(at * dimensions, (at + 1) * dimensions)
      const vector = own.some((value) => value !== 0) ? Float32Array.from(own, (value) => value / 127) : undefined
      const [category = "", type = ""] = [categories[categoryOf[at] ?? 0], types[typeOf[at] ?? 0]]
      const item = { id, entry, category, type, words: new Map<string, number>(), vector }
      kept.push(item)
      byPlace.push(item)
    }
    let begin = 0
    for (const [place, end] of wordEnds.entries()) {
      const word = Buffer.from(words.subarray(begin, end)).toString("utf8")
      begin = end
      this.each(place, (at, frequency) => byPlace[at]?.words.set(word, frequency))
    }
    return kept
  }
}

type Inverted = Pick<Packed, "words" | "wordEnds" | "wordItems" | "postings" | "postingEnds">

/** `lists`: of each word, its items and how often each has it, in turn. */
function invertedOf(lists: ReadonlyMap<string, readonly number[]>): Inverted {
  const sorted = [...lists.keys()].map((word) => ({ word, bytes: Buffer.from(word) })).sort((a, b) => a.bytes.compare(b.bytes))
  const [wordEnds, wordItems, postingEnds] = [0, 0, 0].map(() => new Uint32Array(sorted.length)) as [Uint32Array, Uint32Array, Uint32Array]
  const out = new Bytes()
  let wordEnd = 0
  for (const [place, { word, bytes }] of sorted.entries()) {
    wordEnd += bytes.length
    wordEnds[place] = wordEnd
    let before = -1
    const list = lists.get(word) ?? []
    wordItems[place] = list.length / 2
    for (let at = 0; at < list.length; at += 2) {
      const item = list[at] ?? 0
      out.number(item - before)
      out.number(list[at + 1] ?? 0)
      before = item
    }
    postingEnds[place] = out.length
  }
  const text = new Uint8Array(Buffer.concat(sorted.map(({ bytes }) => bytes)))
  return { words: text, wordEnds, wordItems, postings: out.taken(), postingEnds }
}

function numberOf(known: Map<string, number>, name: string): number {
  const found = known.get(name) ?? known.size
  known.set(name, found)
  return found
}

class Bytes {
  #held = new Uint8Array(65_536)
  length = 0

  number(value: number): void {
    if (this.length + 5 > this.#held.length) {
      const longer = new Uint8Array(2 * this.#held.length)
      longer.set(this.#held)
      this.#held = longer
    }
    let left = value
    while (left > 127) {
      this.#held[this.length++] = (left & 127) | 128
      left >>>= 7
    }
    this.#held[this.length++] = left
  }

  taken(): Uint8Array {
    return this.#held.slice(0, this.length)
  }
}
