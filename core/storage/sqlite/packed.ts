// Packs cells as text, so a group of commits passes to the writer thread as a single string. A list of values would cost a check
// per value on both sides. The head has a mark and a length per cell, and the body has its text.
import type { KeyCell } from "./keys.ts"

/** Marks of text, numbers (JavaScript's own spelling), bytes (hex) and NULL. */
const marks = { text: "s", number: "n", bytes: "x", none: "-" } as const

export class CellPacker {
  head = ""
  body = ""

  push(cell: KeyCell): void {
    if (typeof cell === "string") this.#add(marks.text, cell)
    else if (typeof cell === "number") this.#add(marks.number, String(cell))
    else if (cell === null) this.head += marks.none
    else this.#add(marks.bytes, Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength).toString("hex"))
  }

  #add(mark: string, value: string): void {
    this.head += mark + value.length
    this.body += value
  }
}

const commitEnd = ";"
const headEnd = "\n"

/** Packs lists of cells into a string. */
export function packed(lists: readonly { readonly head: string; readonly body: string }[]): string {
  let head = ""
  let body = ""
  for (const list of lists) {
    head += list.head + commitEnd
    body += list.body
  }
  return head + headEnd + body
}

const codes = { text: 115, number: 110, bytes: 120, none: 45, commitEnd: 59, zero: 48, nine: 57 }

/** Unpacks the lists. Their strings are slices that keep the whole text in memory, so copy stored strings. */
export function unpacked(all: string): KeyCell[][] {
  const end = all.indexOf(headEnd)
  const lists: KeyCell[][] = []
  let cells: KeyCell[] = []
  let at = end + 1
  for (let i = 0; i < end; ) {
    const mark = all.charCodeAt(i++)
    if (mark === codes.commitEnd) {
      lists.push(cells)
      cells = []
      continue
    }
    if (mark === codes.none) {
      cells.push(null)
      continue
    }
    let length = 0
    for (let digit = all.charCodeAt(i); digit >= codes.zero && digit <= codes.nine; digit = all.charCodeAt(++i)) {
      length = length * 10 + digit - codes.zero
    }
    const value = all.slice(at, at + length)
    at += length
    cells.push(mark === codes.text ? value : mark === codes.number ? Number(value) : Buffer.from(value, "hex"))
  }
  return lists
}
