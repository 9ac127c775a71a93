// Postings of tokens: 32-bit hashes with the items containing them. The first bits of a token select its part. A search reads one
// small part of each segment.
import { NumberReader, NumberWriter } from "./packing.ts"

/** Maximum number of postings of a token. Only the newest are stored. */
const maxPostings = 256
const ordinals = 2 ** 20
const postingsPerPart = 1_024

/** The posting of a token in one segment: its number of items, and the ordinals of the newest items in order. */
export interface Posting {
  readonly token: number
  readonly count: number
  readonly ordinals: readonly number[]
}

/** Tokens are sorted in buckets by their first bits. Sorting a whole segment at once would block the main thread. */
const bucketBits = 8

/** Collects the tokens of items, in the order of their ids. */
export class Postings {
  readonly #buckets = Array.from({ length: 2 ** bucketBits }, () => new Pairs())

  add(token: number, ordinal: number): void {
    this.#buckets[partOf(token, bucketBits)]?.add(token * ordinals + ordinal)
  }

  /** Returns the postings in token order. Sorts bucket by bucket, as postings are read. */
  *sorted(): Generator<Posting> {
    for (const bucket of this.#buckets) yield* postingsOf(bucket.sorted())
  }
}

class Pairs {
  #pairs = new Float64Array(64)
  #length = 0
  #isSorted = true

  add(pair: number): void {
    if (this.#length === this.#pairs.length) {
      const grown = new Float64Array(2 * this.#length)
      grown.set(this.#pairs)
      this.#pairs = grown
    }
    this.#pairs[this.#length++] = pair
    this.#isSorted = false
  }

  sorted(): Float64Array {
    const pairs = this.#pairs.subarray(0, this.#length)
    if (!this.#isSorted) pairs.sort()
    this.#isSorted = true
    return pairs
  }
}

function* postingsOf(pairs: Float64Array): Generator<Posting> {
  let [token, found, last] = [-1, [] as number[], -1]
  for (const pair of pairs) {
    if (pair === last) continue
    last = pair
    const next = Math.floor(pair / ordinals)
    if (next !== token) {
      if (found.length > 0) yield cut(token, found)
      token = next
      found = []
    }
    found.push(pair % ordinals)
  }
  if (found.length > 0) yield cut(token, found)
}

function cut(token: number, found: number[]): Posting {
  return { token, count: found.length, ordinals: found.slice(-maxPostings) }
}

/** Returns the number of first bits that identify a token's part. */
export function bitsFor(postings: number): number {
  return Math.max(0, Math.min(16, Math.ceil(Math.log2(postings / postingsPerPart))))
}

export function partOf(token: number, bits: number): number {
  return bits === 0 ? 0 : token >>> (32 - bits)
}

/** Divides postings in token order into parts. Yields each nonempty part with its number. */
export function* parts(postings: Iterable<Posting>, bits: number): Generator<{ part: number; base64: string }> {
  let current = -1
  let before = 0
  let writer = new NumberWriter()
  for (const { token, count, ordinals: found } of postings) {
    const part = partOf(token, bits)
    if (part !== current) {
      if (current >= 0) yield { part: current, base64: writer.bytes().toString("base64") }
      current = part
      before = 0
      writer = new NumberWriter()
    }
    writer.add(token - before)
    before = token
    writer.add(count)
    let last = 0
    for (const ordinal of found) {
      writer.add(ordinal - last)
      last = ordinal
    }
  }
  if (current >= 0) yield { part: current, base64: writer.bytes().toString("base64") }
}

export function* readPart(base64: string): Generator<Posting> {
  const reader = new NumberReader(Buffer.from(base64, "base64"))
  let token = 0
  while (!reader.atEnd) {
    token += reader.next()
    yield nextPosting(reader, token, reader.next())
  }
}

/** Returns the posting of one token without creating the postings before it. */
export function postingIn(base64: string, token: number): Posting | undefined {
  const reader = new NumberReader(Buffer.from(base64, "base64"))
  for (let current = 0; !reader.atEnd; ) {
    current += reader.next()
    const count = reader.next()
    if (current >= token) return current === token ? nextPosting(reader, token, count) : undefined
    reader.skip(Math.min(count, maxPostings))
  }
  return undefined
}

function nextPosting(reader: NumberReader, token: number, count: number): Posting {
  const found: number[] = []
  let ordinal = 0
  for (let left = Math.min(count, maxPostings); left > 0; left--) {
    ordinal += reader.next()
    found.push(ordinal)
  }
  return { token, count, ordinals: found }
}

/** Merges postings from several segments. Ordinals of each segment follow those of the segment before. */
export function mergedPostings(sources: readonly { readonly postings: readonly Posting[]; readonly offset: number }[]): Posting[] {
  const all = sources.flatMap(({ postings, offset }) => postings.map((posting) => ({ posting, offset })))
  all.sort((a, b) => a.posting.token - b.posting.token || a.offset - b.offset)
  const merged: { token: number; count: number; ordinals: number[] }[] = []
  for (const { posting, offset } of all) {
    const moved = posting.ordinals.map((ordinal) => ordinal + offset)
    const last = merged.at(-1)
    if (last?.token === posting.token) {
      last.count += posting.count
      last.ordinals = [...last.ordinals, ...moved].slice(-maxPostings)
    } else merged.push({ token: posting.token, count: posting.count, ordinals: moved })
  }
  return merged
}

/** Returns the ordinals that every posting may contain, in order. A cut posting excludes no ordinal. */
export function commonOrdinals(postings: readonly (Posting | undefined)[]): { ordinals: number[]; complete: boolean } {
  const there = postings.flatMap((posting) => posting ?? [])
  if (there.length < postings.length) return { ordinals: [], complete: true }
  const whole = there.filter(({ count }) => count <= maxPostings).map(({ ordinals }) => new Set(ordinals))
  const rarest = there.reduce((least, posting) => (posting.count < least.count ? posting : least))
  return {
    ordinals: rarest.ordinals.filter((ordinal) => whole.every((set) => set.has(ordinal))),
    complete: whole.length > 0,
  }
}
