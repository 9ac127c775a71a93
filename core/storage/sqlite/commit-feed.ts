// The feed of commits to a few global collections, for workers that share one file: whoever commits says along with the
// group what it brings to them, and the process that writes the file tells every worker once the group is on disk.
import type { CommitFeed, CommitFeedReader } from "../../contract/coherence.ts"
import type { Document } from "../../contract/collection.ts"
import type { Link } from "../../contract/link.ts"
import type { Commit } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"

export const feedTopic = "store.feed"

export interface CommitNote {
  /** Which commit of the group. */
  readonly at: number
  readonly collection: string
  readonly id: string
  readonly inserted?: Document
}

/** What commits bring to the collections that have a feed. */
export function notesOf(commits: readonly Commit[], fed: ReadonlySet<string>): CommitNote[] {
  const notes: CommitNote[] = []
  for (const [at, { writes }] of commits.entries()) {
    for (const write of writes) {
      if (write.organization !== undefined || write.kind === "remove" || !fed.has(write.collection.name)) continue
      const note = { at, collection: write.collection.name }
      if ("doc" in write) notes.push({ ...note, id: write.doc.id, inserted: JSON.parse(JSON.stringify(write.doc)) as Document })
      else notes.push({ ...note, id: write.id })
    }
  }
  return notes
}

export function linkedFeed(link: Link): CommitFeed {
  const readers = new Set<Reader>()
  link.hear<readonly CommitNote[]>(feedTopic, (notes) => {
    for (const reader of readers) reader.take(notes)
  })
  link.onLost(() => {
    for (const reader of readers) reader.wake()
  })
  return {
    async open({ name }) {
      const reader = new Reader(link, name, () => readers.delete(reader))
      readers.add(reader)
      return reader
    },
  }
}

class Reader implements CommitFeedReader {
  readonly #link: Link
  readonly #collection: string
  readonly #end: () => void
  readonly #notes: CommitNote[] = []
  wake = () => {}

  constructor(link: Link, collection: string, end: () => void) {
    this.#link = link
    this.#collection = collection
    this.#end = end
  }

  take(notes: readonly CommitNote[]): void {
    for (const note of notes) if (note.collection === this.#collection) this.#notes.push(note)
    this.wake()
  }

  async next(waitMs: number): Promise<{ id: string; inserted?: Document } | undefined> {
    if (this.#notes.length === 0 && !this.#link.lost) await this.#news(waitMs)
    if (this.#link.lost) throw new AppError("unavailable", `The feed of ${this.#collection} ended with the process that told of it.`)
    return this.#notes.shift()
  }

  async close(): Promise<void> {
    this.#end()
    this.wake()
  }

  #news(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs)
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
