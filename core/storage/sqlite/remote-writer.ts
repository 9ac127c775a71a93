// A worker's way to the one process that owns the file: groups go there packed, and are written beside those of the other
// workers. When that process is gone, what it had in hand is looked up in the file.
import type { CommitFeed } from "../../contract/coherence.ts"
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Link } from "../../contract/link.ts"
import type { Commit } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import { type CommitNote, linkedFeed, notesOf } from "./commit-feed.ts"
import { outcomesIn } from "./outcomes.ts"
import type { Outcome, Writing } from "./writing.ts"

/** A group on its way, which the writing thread alone unpacks. */
export interface PackedGroup {
  readonly packed: string
  readonly commits: number
  readonly notes: readonly CommitNote[]
}

export const writerTopics = { open: "store.open", commit: "store.commit", probe: "store.probe" } as const

export interface RemoteWriterOptions {
  readonly link: Link
  readonly file: string
  /** Names of global collections that workers tell each other about. */
  readonly fed: readonly string[]
}

export class RemoteWriter implements Writing {
  readonly #link: Link
  readonly #file: string
  readonly #fed: ReadonlySet<string>
  readonly feed: CommitFeed

  constructor({ link, file, fed }: RemoteWriterOptions) {
    this.#link = link
    this.#file = file
    this.#fed = new Set(fed)
    this.feed = linkedFeed(link)
  }

  async start(collections: readonly CollectionSpec[]): Promise<void> {
    await this.#link.ask(
      writerTopics.open,
      collections.map(({ document: _, restore: __, sealed: ___, ...spec }) => ({ ...spec })),
    )
  }

  async group(packed: string, commits: readonly Commit[]): Promise<readonly Outcome[]> {
    const sent = !this.#link.lost
    const group: PackedGroup = { packed, commits: commits.length, notes: notesOf(commits, this.#fed) }
    try {
      return await this.#link.ask<Outcome[]>(writerTopics.commit, group)
    } catch (error) {
      if (!sent || !this.#link.lost) throw error
      return this.#lookUp(commits.map(({ id }) => id))
    }
  }

  async probe(): Promise<void> {
    await this.#link.ask(writerTopics.probe)
  }

  async stop(): Promise<void> {}

  #lookUp(ids: readonly string[]): Outcome[] {
    try {
      return outcomesIn(this.#file, ids)
    } catch (cause) {
      const message = "The process that stores went away, and whether this was kept cannot be told now."
      throw new AppError("unavailable", message, { reason: "outcome_unknown" }, { cause, retryAfterS: 5 })
    }
  }
}
