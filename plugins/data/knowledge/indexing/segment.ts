// A segment: an immutable inverted index of up to a few thousand items. Words are postings of the search module. Vectors have one
// byte per number.
import { serialize } from "node:v8"
import { packUuids, uuidAt, WordIndex, type WordPostings, wordPostings } from "#core/search"

export interface IndexedItem {
  /** The item's UUID. */
  readonly id: string
  /** Number of this indexing. The latest indexing of an item counts. */
  readonly entry: number
  readonly category: string
  readonly type: string
  /** Frequency of each word. Words of the title count more. */
  readonly words: ReadonlyMap<string, number>
  /** Vector of length one. Absent without a model. */
  readonly vector?: Float32Array | undefined
}

/** The stored form. */
export interface Packed extends WordPostings {
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
  /** Length of a vector. 0: no vectors. */
  readonly dimensions: number
  /** Components in units of 1/127. Zeros for an item without a vector. */
  readonly vectors: Int8Array
}

export class Segment extends WordIndex {
  readonly #packed: Packed
  readonly totalLength: number

  constructor(packed: Packed) {
    super(packed)
    this.#packed = packed
    this.totalLength = packed.lengths.reduce((sum, length) => sum + length, 0)
  }

  /** Slow for long texts, so it runs in the index thread. */
  static make(items: readonly IndexedItem[]): Segment {
    const lists = new Map<string, number[]>()
    const count = items.length
    const ids = new Uint8Array(packUuids(items.map(({ id }) => id)))
    const [entries, lengths] = [new Uint32Array(count), new Uint32Array(count)]
    const [categories, types] = [new Map<string, number>(), new Map<string, number>()]
    const [categoryOf, typeOf] = [new Uint16Array(count), new Uint8Array(count)]
    const dimensions = items.find(({ vector }) => vector)?.vector?.length ?? 0
    const vectors = new Int8Array(dimensions * count)
    for (const [at, item] of items.entries()) {
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
    return new Segment({
      ...{ version: 1, count, ids, entries, lengths, categoryOf, typeOf, dimensions, vectors },
      ...{ categories: [...categories.keys()], types: [...types.keys()] },
      ...wordPostings(lists),
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

  /** Approximate memory use. */
  get bytes(): number {
    const { words, postings, wordEnds, vectors, ids } = this.#packed
    return words.length + postings.length + 8 * wordEnds.length + vectors.length + 2 * ids.length
  }

  stored(): Buffer {
    return serialize(this.#packed)
  }

  idAt(at: number): string {
    return uuidAt(this.#packed.ids, at) ?? ""
  }

  entryAt(at: number): number {
    return this.#packed.entries[at] ?? 0
  }

  /** Returns a test for items of a category and type, or undefined for all items. */
  selection({ category, type }: { readonly category: string; readonly type: string }): ((at: number) => boolean) | undefined {
    const { categories, categoryOf, types, typeOf } = this.#packed
    if (category === "" && type === "") return undefined
    const [wantedCategory, wantedType] = [categories.indexOf(category), types.indexOf(type)]
    return (at) => (category === "" || categoryOf[at] === wantedCategory) && (type === "" || typeOf[at] === wantedType)
  }

  /** Returns the selected items in their original form. */
  items(keeps: (id: string, entry: number) => boolean): IndexedItem[] {
    const { count, categories, categoryOf, types, typeOf, dimensions, vectors } = this.#packed
    const entries: (IndexedItem & { readonly words: Map<string, number> })[] = []
    const byPlace: ((typeof entries)[number] | undefined)[] = []
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
      entries.push(item)
      byPlace.push(item)
    }
    let place = 0
    for (const word of this.words()) this.each(place++, (at, frequency) => byPlace[at]?.words.set(word, frequency))
    return entries
  }
}

function numberOf(numbers: Map<string, number>, name: string): number {
  const number = numbers.get(name) ?? numbers.size
  numbers.set(name, number)
  return number
}
