// The number of the last group that was committed, kept in a file of its own beside the data file. SQLite drops what
// follows a damaged place in its log without a word; a number here that is higher than the last one in the file tells of
// it. Written after the group's flush and not flushed itself: after a power cut it may be lower, never higher.
import { closeSync, openSync, readSync, writeSync } from "node:fs"

const bytes = 16

export class CommitCounter {
  readonly #descriptor: number
  readonly #view = new DataView(new ArrayBuffer(bytes))

  constructor(file: string) {
    // Opened for both without being emptied; made where it is missing.
    closeSync(openSync(`${file}-commits`, "a", 0o600))
    this.#descriptor = openSync(`${file}-commits`, "r+")
  }

  /** The last group noted, and when (milliseconds since the epoch); 0 where none was. */
  read(): { readonly group: number; readonly at: number } {
    if (readSync(this.#descriptor, this.#view, 0, bytes, 0) < bytes) return { group: 0, at: 0 }
    return { group: this.#view.getFloat64(0), at: this.#view.getFloat64(8) }
  }

  note(group: number): void {
    this.#view.setFloat64(0, group)
    this.#view.setFloat64(8, Date.now())
    try {
      writeSync(this.#descriptor, this.#view, 0, bytes, 0)
    } catch {
      // The commit holds all the same; a number that is too low claims nothing.
    }
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}
