// A segment: which of some entries hold which token. Its postings are cut into parts by the first bits of the token, so that a
// search reads one small part of each segment; the ids of its entries into blocks. Made once, never changed.

/** Entries of one segment; an ordinal is less than this. */
export const maxEntries = 2 ** 18
/** Of a token that many entries hold, the newest. */
export const maxPostings = 256
/** A search reads a block for each event it looks at. */
export const idsPerBlock = 128
const ordinals = 2 ** 20
const postingsPerPart = 1_024
const uuidBytes = 16

/** What one segment has of a token: in how many entries it stands, and the ordinals of the newest of them, in order. */
export interface Posting {
  readonly token: number
  readonly count: number
  readonly ordinals: readonly number[]
}

/** Tokens with the same first bits are sorted together: a sort of a whole segment would hold the main thread. */
const bucketBits = 8

/** Gathers tokens of entries, in the order of their ids. */
export class Postings {
  readonly #buckets = Array.from({ length: 2 ** bucketBits }, () => new Pairs())

  add(token: number, ordinal: number): void {
    this.#buckets[partOf(token, bucketBits)]?.add(token * ordinals + ordinal)
  }

  /** In the order of tokens. The work is done in pieces, as postings are read. */
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

/** How many first bits of a token name its part. */
export function bitsFor(postings: number): number {
  return Math.max(0, Math.min(16, Math.ceil(Math.log2(postings / postingsPerPart))))
}

export function partOf(token: number, bits: number): number {
  return bits === 0 ? 0 : token >>> (32 - bits)
}

/** Of postings in the order of tokens: parts that hold any, each with its number. */
export function* parts(postings: Iterable<Posting>, bits: number): Generator<{ part: number; base64: string }> {
  let current = -1
  let writer = new Writer()
  for (const posting of postings) {
    const part = partOf(posting.token, bits)
    if (part !== current) {
      if (current >= 0) yield { part: current, base64: writer.base64() }
      current = part
      writer = new Writer()
    }
    writer.posting(posting)
  }
  if (current >= 0) yield { part: current, base64: writer.base64() }
}

export function* readPart(base64: string): Generator<Posting> {
  const reader = new Reader(base64)
  let token = 0
  while (!reader.atEnd) {
    token += reader.number()
    yield reader.posting(token, reader.number())
  }
}

/** The posting of one token, without those before it being made. */
export function postingIn(base64: string, token: number): Posting | undefined {
  const reader = new Reader(base64)
  for (let current = 0; !reader.atEnd; ) {
    current += reader.number()
    const count = reader.number()
    if (current >= token) return current === token ? reader.posting(token, count) : undefined
    reader.skip(Math.min(count, maxPostings))
  }
  return undefined
}

/** Postings of the same tokens from several segments, the ordinals of each behind those of the one before. */
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

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(base64: string) {
    this.#bytes = Buffer.from(base64, "base64")
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  number(): number {
    let [value, scale] = [0, 1]
    for (;;) {
      const byte = this.#bytes[this.#at++] ?? 0
      value += (byte & 127) * scale
      if (byte < 128) return value
      scale *= 128
    }
  }

  skip(numbers: number): void {
    for (let left = numbers; left > 0; left--) while ((this.#bytes[this.#at++] ?? 0) >= 128);
  }

  posting(token: number, count: number): Posting {
    const ordinals: number[] = []
    let ordinal = 0
    for (let left = Math.min(count, maxPostings); left > 0; left--) {
      ordinal += this.number()
      ordinals.push(ordinal)
    }
    return { token, count, ordinals }
  }
}

class Writer {
  #bytes = Buffer.allocUnsafe(8_192)
  #length = 0
  #token = 0

  posting({ token, count, ordinals: found }: Posting): void {
    if (this.#length + 12 + 5 * found.length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * this.#bytes.length + 5 * found.length)
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    this.#number(token - this.#token)
    this.#token = token
    this.#number(count)
    let last = 0
    for (const ordinal of found) {
      this.#number(ordinal - last)
      last = ordinal
    }
  }

  base64(): string {
    return this.#bytes.toString("base64", 0, this.#length)
  }

  #number(given: number): void {
    let value = given
    while (value >= 128) {
      this.#bytes[this.#length++] = (value % 128) | 128
      value = Math.floor(value / 128)
    }
    this.#bytes[this.#length++] = value
  }
}

/** Ids of entries in blocks, sixteen bytes each. */
export function* idBlocks(ids: readonly string[]): Generator<string> {
  for (let from = 0; from < ids.length; from += idsPerBlock) {
    const hex = ids.slice(from, from + idsPerBlock).map((id) => id.replaceAll("-", ""))
    yield Buffer.from(hex.join(""), "hex").toString("base64")
  }
}

export function idsOf(base64: string): string[] {
  const hex = Buffer.from(base64, "base64").toString("hex")
  return Array.from({ length: hex.length / (2 * uuidBytes) }, (_, at) => uuidOf(hex.slice(at * 2 * uuidBytes, (at + 1) * 2 * uuidBytes)))
}

/** One of them alone, without the others being read; undefined where there are fewer. */
export function idAt(base64: string, at: number): string | undefined {
  const first = at * uuidBytes
  // Three bytes are four characters.
  const group = Math.floor(first / 3)
  const bytes = Buffer.from(base64.slice(4 * group, 4 * Math.ceil((first + uuidBytes) / 3)), "base64").subarray(first - 3 * group)
  return bytes.length < uuidBytes ? undefined : uuidOf(bytes.toString("hex", 0, uuidBytes))
}

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
