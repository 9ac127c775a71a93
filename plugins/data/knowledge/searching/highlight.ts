// Selects the pieces of an item's text with the most query words, and marks these words.
import { type Place, placesOf } from "../indexing/tokens.ts"

const pieceCharacters = 240
const maxPieces = 2

export interface Highlight {
  readonly text: string
  /** Positions of query words in `text`. */
  readonly marks: readonly { readonly from: number; readonly to: number }[]
}

/** Returns highlights in the beginning of a text. */
export function highlights(text: string, queryWords: ReadonlySet<string>): Highlight[] {
  const hits = placesOf(text, queryWords).sort((a, b) => a.from - b.from)
  const pieces = piecesOf(hits)
  const chosen: Piece[] = []
  for (const piece of pieces.sort((a, b) => b.worth - a.worth || a.from - b.from)) {
    if (chosen.length === maxPieces) break
    if (chosen.every(({ from, to }) => piece.to < from || piece.from > to)) chosen.push(piece)
  }
  return chosen
    .sort((a, b) => a.from - b.from)
    .map((piece) => {
      const spare = Math.max(0, Math.floor((pieceCharacters - (piece.to - piece.from)) / 2))
      const from = wordStart(text, Math.max(0, piece.from - spare))
      const excerpt = text.slice(from, piece.to + spare).toWellFormed()
      const marks = merged(hits.filter((hit) => hit.from >= from && hit.to <= from + excerpt.length))
      return { text: excerpt, marks: marks.map((mark) => ({ from: mark.from - from, to: mark.to - from })) }
    })
}

interface Piece {
  readonly from: number
  readonly to: number
  /** Number of different query words. */
  readonly worth: number
}

/** Returns a piece for each hit, starting at the hit. One window moves over the hits, because a text may consist only of hits. */
function piecesOf(hits: readonly Place[]): Piece[] {
  const pieces: Piece[] = []
  const counts = new Map<string, number>()
  const farthest = new Farthest(hits)
  let end = 0
  for (const [at, { word, from }] of hits.entries()) {
    end = Math.max(end, at)
    for (let hit = hits[end]; hit && hit.to - from <= pieceCharacters; hit = hits[++end]) {
      counts.set(hit.word, (counts.get(hit.word) ?? 0) + 1)
      farthest.add(end)
    }
    pieces.push({ from, to: farthest.after(at) ?? from, worth: counts.size })
    const remaining = (counts.get(word) ?? 0) - 1
    if (remaining > 0) counts.set(word, remaining)
    else counts.delete(word)
  }
  return pieces
}

/** The last end of the hits in a window. Stores only hits that may become the last. */
class Farthest {
  readonly #hits: readonly Place[]
  readonly #places: number[] = []
  #first = 0

  constructor(hits: readonly Place[]) {
    this.#hits = hits
  }

  add(place: number): void {
    while (this.#places.length > this.#first && this.#end(this.#places.at(-1)) <= this.#end(place)) this.#places.pop()
    this.#places.push(place)
  }

  /** Returns the last end of the hits from this place on. */
  after(place: number): number | undefined {
    while ((this.#places[this.#first] ?? place) < place) this.#first++
    return this.#hits[this.#places[this.#first] ?? -1]?.to
  }

  #end(place: number | undefined): number {
    return this.#hits[place ?? -1]?.to ?? 0
  }
}

/** Returns the start of the next word within 30 characters, otherwise `at`. */
function wordStart(text: string, at: number): number {
  const space = text.slice(at, at + 30).search(/\s/)
  return at === 0 || space < 0 ? at : at + space + 1
}

function merged(hits: readonly { readonly from: number; readonly to: number }[]): { from: number; to: number }[] {
  const marks: { from: number; to: number }[] = []
  for (const { from, to } of hits) {
    const last = marks.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else marks.push({ from, to })
  }
  return marks
}
