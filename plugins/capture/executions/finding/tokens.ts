// Splits text into search tokens: hashes of lower-case words and of compounds. A compound is a text between spaces or quotes (an
// address, an order number, a URL). Scans the characters once and allocates no string per word. An event takes a few
// microseconds.

/**
 * `word`: a single word. `compound`: several words with signs between them; the words are tokens too. `whole`: a token without
 * tokens for its parts, such as a UUID.
 */
export type TokenKind = "word" | "compound" | "whole"

const wordSeed = 0x811c9dc5
const compoundSeed = 0x2f0b4c47
const prime = 0x01000193
const space = 32
const maxTokens = 1_024
const uuidLength = 36
const timeLength = 24

/** Calls `take` with each token, an unsigned 32-bit number. A token may repeat. */
export function tokens(given: string, take: Take): void {
  const text = /[^\p{ASCII}]/u.test(given) ? given.normalize("NFC").toLowerCase() : given
  const scanner = new Scanner(take)
  for (let at = 0; at < text.length && scanner.taken < maxTokens; at++) {
    const code = text.charCodeAt(at)
    scanner.next(code >= 65 && code <= 90 ? code + 32 : code, at)
  }
  scanner.next(space, text.length)
}

type Take = (token: number, kind: TokenKind) => void

class Scanner {
  taken = 0
  readonly #take: Take
  readonly #words: number[] = []
  #word = wordSeed
  #length = 0
  /** Parts between two separators, including words of one letter. */
  #pieces = 0
  #compound = compoundSeed
  #begin = -1
  /** Position of the last letter, and the hash up to it. */
  #end = -1
  #complete = compoundSeed

  constructor(take: Take) {
    this.#take = take
  }

  next(code: number, at: number): void {
    const kind = kindOf(code)
    if (kind === letter) this.#letter(code, at)
    else if (kind === separator) this.#separator()
    else {
      this.#endWord(2)
      if (kind === sign) this.#sign(code)
      else {
        this.#letter(code, at)
        this.#endWord(1)
      }
    }
  }

  #letter(code: number, at: number): void {
    if (this.#begin < 0) this.#begin = at
    this.#end = at
    this.#word = Math.imul(this.#word ^ code, prime)
    this.#length++
    this.#compound = Math.imul(this.#compound ^ code, prime)
    this.#complete = this.#compound
  }

  #sign(code: number): void {
    if (this.#begin >= 0) this.#compound = Math.imul(this.#compound ^ code, prime)
  }

  #endWord(least: number): void {
    if (this.#length === 0) return
    this.#pieces++
    if (this.#length >= least) this.#words.push(mixed(this.#word))
    this.#word = wordSeed
    this.#length = 0
  }

  #separator(): void {
    this.#endWord(2)
    const words = this.#words
    if (this.#pieces > 1) toldCompound(words, this.#complete, this.#end - this.#begin + 1, this.#take)
    else for (const word of words) this.#take(word, "word")
    this.taken += this.#pieces
    words.length = 0
    this.#pieces = 0
    this.#compound = compoundSeed
    this.#begin = -1
  }
}

function toldCompound(words: readonly number[], compound: number, length: number, take: Take): void {
  const isWhole = words.length === 0 || (words.length >= 5 && (length === uuidLength || length === timeLength))
  take(mixed(compound), isWhole ? "whole" : "compound")
  if (!isWhole) for (const word of words) take(word, "word")
}

const [separator, sign, letter, ideograph] = [0, 1, 2, 3]
const signs = new Set("!#$%&*+-./:=?@\\^_`|~")

function kindOf(code: number): number {
  if ((code >= 97 && code <= 122) || (code >= 48 && code <= 57)) return letter
  if (code < 128) return signs.has(String.fromCharCode(code)) ? sign : separator
  // Spaces, dashes, quotes and direction marks.
  if (code <= 0xbf || (code >= 0x2000 && code <= 0x206f) || (code >= 0x3000 && code <= 0x303f) || code === 0xfeff) return separator
  // Scripts without spaces: each character is a word.
  return (code >= 0x3040 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7a3) ? ideograph : letter
}

/** Mixes the bits of a hash. The first bits choose the part of the index, so every bit must depend on all others. */
function mixed(hash: number): number {
  let mixing = hash
  mixing ^= mixing >>> 16
  mixing = Math.imul(mixing, 0x85ebca6b)
  mixing ^= mixing >>> 13
  mixing = Math.imul(mixing, 0xc2b2ae35)
  mixing ^= mixing >>> 16
  return mixing >>> 0
}

/** Tokens of a query. A match has every token of `all` and of `compounds`. */
export interface Sought {
  readonly all: readonly number[]
  readonly compounds: readonly number[]
}

export function soughtIn(text: string): Sought {
  const all = new Set<number>()
  const compounds = new Set<number>()
  tokens(text, (token, kind) => void (kind === "compound" ? compounds : all).add(token))
  return { all: [...all], compounds: [...compounds] }
}
