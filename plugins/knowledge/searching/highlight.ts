// Where an item's text answers a query: the piece of it that holds most of the query's words, with those words marked.
import { placesOf } from "../indexing/tokens.ts"

const pieceCharacters = 240
const maxPieces = 2

export interface Highlight {
  readonly text: string
  /** Where words of the query stand in `text`. */
  readonly marks: readonly { readonly from: number; readonly to: number }[]
}

/** Of the beginning of a text. */
export function highlights(text: string, asked: ReadonlySet<string>): Highlight[] {
  const hits = placesOf(text, asked).sort((a, b) => a.from - b.from)
  const pieces: { from: number; to: number; worth: number }[] = []
  for (const [at, { from }] of hits.entries()) {
    const within = new Set<string>()
    let to = from
    for (let next = at; next < hits.length; next++) {
      const hit = hits[next]
      if (!hit || hit.to - from > pieceCharacters) break
      within.add(hit.word)
      to = Math.max(to, hit.to)
    }
    pieces.push({ from, to, worth: within.size })
  }
  const chosen: typeof pieces = []
  for (const piece of pieces.sort((a, b) => b.worth - a.worth || a.from - b.from)) {
    if (chosen.length === maxPieces) break
    if (chosen.every(({ from, to }) => piece.to < from || piece.from > to)) chosen.push(piece)
  }
  return chosen
    .sort((a, b) => a.from - b.from)
    .map((piece) => {
      const spare = Math.max(0, Math.floor((pieceCharacters - (piece.to - piece.from)) / 2))
      const from = wordStart(text, Math.max(0, piece.from - spare))
      const shown = text.slice(from, piece.to + spare).toWellFormed()
      const marks = merged(hits.filter((hit) => hit.from >= from && hit.to <= from + shown.length))
      return { text: shown, marks: marks.map((mark) => ({ from: mark.from - from, to: mark.to - from })) }
    })
}

/** Not in the midst of a word. */
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
