// Splits text into the words of the index: one case and form, without accents and English plurals. Text without spaces (Chinese,
// Japanese, Thai, …) is split by ICU's dictionaries (Intl.Segmenter), and also into pairs of characters. The dictionaries may
// split a question differently from the matching text.

/** Scripts without spaces between words. */
const unspaced =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\u30fc\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}"
const runs = new RegExp(`[${unspaced}]+|(?:(?![${unspaced}])[\\p{L}\\p{N}\\p{M}_])+(?:['’](?:(?![${unspaced}])[\\p{L}])+)?`, "gu")
/** Finds the same runs as `runs` in ASCII text, but faster. */
const asciiRuns = /[A-Za-z0-9_]+(?:'[A-Za-z]+)?/g
const isAscii = /^[\0-\x7f]*$/
const isUnspaced = new RegExp(`^[${unspaced}]`, "u")
const ascii = /^[a-z0-9_'’]+$/

const segmenter = new Intl.Segmenter("ja", { granularity: "word" })
const maxWord = 64
/** Characters of a run without spaces processed at once. A longer run is cut. */
const maxRun = 4_096

/** A word with its position in the text. */
export interface Place {
  readonly word: string
  readonly from: number
  readonly to: number
}

export function words(text: string): string[] {
  const tokens: string[] = []
  for (const [run] of text.matchAll(runs)) {
    if (isUnspaced.test(run)) for (const { word } of unspacedWords(run, 0)) tokens.push(word)
    else if (run.length <= maxWord) tokens.push(folded(run))
  }
  return tokens
}

/** Returns the positions of these words in a text. */
export function placesOf(text: string, queryWords: ReadonlySet<string>): Place[] {
  const places: Place[] = []
  // Folding preserves the first letter of an ASCII word. A word with another first letter than all query words therefore needs no
  // folding.
  const firsts = new Set([...queryWords].map((word) => word.charCodeAt(0)))
  for (const match of text.matchAll(isAscii.test(text) ? asciiRuns : runs)) {
    const [run] = match
    const first = run.charCodeAt(0)
    const from = match.index
    if (first < 128 && !firsts.has(first) && !firsts.has(first | 32)) continue
    if (isUnspaced.test(run)) places.push(...unspacedWords(run, from).filter(({ word }) => queryWords.has(word)))
    else if (run.length <= maxWord) {
      const word = folded(run)
      if (queryWords.has(word)) places.push({ word, from, to: from + run.length })
    }
  }
  return places
}

function unspacedWords(run: string, from: number): Place[] {
  const places: Place[] = []
  for (let at = 0; at < run.length; ) {
    const end = endOfPiece(run, at)
    for (const place of wordsOfRun(run.slice(at, end), from + at)) places.push(place)
    at = end
  }
  return places
}

/** Avoids a cut between the two halves of a character. */
function endOfPiece(run: string, at: number): number {
  const end = Math.min(run.length, at + maxRun)
  return end < run.length && (run.codePointAt(end - 1) ?? 0) > 0xffff ? end - 1 : end
}

function wordsOfRun(run: string, from: number): Place[] {
  const places: Place[] = []
  const normal = run.normalize("NFKC")
  // If normalization changes the length, positions would be wrong.
  const source = normal.length === run.length ? normal : run
  for (const { segment, index, isWordLike } of segmenter.segment(source))
    if (isWordLike) places.push({ word: segment, from: from + index, to: from + index + segment.length })
  const positions = new Set(places.map(({ word, from: at }) => `${word} ${at}`))
  const characters = [...source]
  let at = from
  for (const [index, character] of characters.entries()) {
    const next = characters[index + 1]
    const word = character + (next ?? "")
    if (next !== undefined && !positions.has(`${word} ${at}`)) places.push({ word, from: at, to: at + word.length })
    at += character.length
  }
  return places
}

function folded(run: string): string {
  const lower = run.toLowerCase()
  if (ascii.test(lower)) return singular(lower.replace(/['’]s?.*$/, ""))
  const plain = lower
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/['’].*$/, "")
    .replace(/ß/g, "ss")
  return plain === "" ? lower : singular(plain)
}

/** Harman's S stemmer: removes only plurals, so words of other languages hardly change. */
function singular(word: string): string {
  if (word.length < 4 || !word.endsWith("s")) return word
  if (word.endsWith("ies")) return /[ae]ies$/.test(word) ? word : `${word.slice(0, -3)}y`
  if (word.endsWith("es")) return /[aeo]es$/.test(word) ? word : word.slice(0, -1)
  return /[us]s$/.test(word) ? word : word.slice(0, -1)
}
