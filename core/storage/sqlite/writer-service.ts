// The owner of the file at the service of several workers: groups that come while one is being written are written
// together, so that all workers share one flush, and what they bring to collections with a feed is told to everyone.
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Link } from "../../contract/link.ts"
import type { Commit } from "../../contract/store.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import { type CommitNote, feedTopic } from "./commit-feed.ts"
import type { FileOwner } from "./owner.ts"
import { packed } from "./packed.ts"
import { type PackedGroup, writerTopics } from "./remote-writer.ts"
import { Staging } from "./staging.ts"
import type { Outcome } from "./writing.ts"

interface Waiting extends PackedGroup {
  readonly from: Link
  readonly resolve: (outcomes: readonly Outcome[]) => void
  readonly reject: (error: AppError) => void
}

/** Characters of groups written together. */
const mostBytes = 16 << 20

export class WriterService {
  readonly #owner: FileOwner
  readonly #onNote: (from: Link, note: CommitNote) => void
  readonly #links = new Set<Link>()
  #opening: Promise<void> | undefined
  #specs = ""
  #staging: Staging | undefined
  #waiting: Waiting[] = []
  #busy = false

  /** `onNote` hears what each worker's commits brought to collections with a feed. */
  constructor(owner: FileOwner, onNote: (from: Link, note: CommitNote) => void) {
    this.#owner = owner
    this.#onNote = onNote
  }

  serve(link: Link): void {
    this.#links.add(link)
    link.onLost(() => this.#links.delete(link))
    link.answer(writerTopics.open, (collections: readonly CollectionSpec[]) => this.#open(collections))
    link.answer(writerTopics.commit, (group: PackedGroup) => this.#commit(link, group))
    link.answer(writerTopics.probe, () => this.#owner.probe())
  }

  /** A commit of the parent's own. */
  async commit(commit: Commit): Promise<void> {
    if (this.#staging) await this.#owner.group(packed([this.#staging.encode(commit).cells]))
  }

  /** The first worker says what the file holds; the others must say the same, since cells name collections by number. */
  async #open(collections: readonly CollectionSpec[]): Promise<void> {
    const specs = JSON.stringify(collections)
    this.#opening ??= this.#owner.start(collections).then(() => {
      this.#specs = specs
      this.#staging = new Staging(collections)
    })
    await this.#opening
    if (specs === this.#specs) return
    const message =
      "This worker has other collections than those that were started before it: its plugins have changed since. Restart the whole service."
    throw new AppError("failed_precondition", message, { reason: "other_collections" })
  }

  #commit(from: Link, group: PackedGroup): Promise<readonly Outcome[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...group, from, resolve, reject })
      void this.#send()
    })
  }

  async #send(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    while (this.#waiting.length > 0) await this.#write(this.#next())
    this.#busy = false
  }

  #next(): Waiting[] {
    let count = 0
    let bytes = 0
    for (const { packed: text } of this.#waiting) {
      bytes += text.length
      if (count > 0 && bytes > mostBytes) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  async #write(groups: readonly Waiting[]): Promise<void> {
    try {
      const { results = [] } = await this.#owner.ask({ kind: "group", groups: groups.map(({ packed: text }) => text) })
      let at = 0
      for (const group of groups) {
        const outcomes = results.slice(at, at + group.commits)
        at += group.commits
        this.#tell(group, outcomes)
        group.resolve(outcomes)
      }
    } catch (error) {
      for (const { reject } of groups) reject(asAppError(error))
    }
  }

  #tell({ from, notes }: Waiting, outcomes: readonly Outcome[]): void {
    const kept = notes.filter(({ at }) => typeof outcomes[at] === "string")
    if (kept.length === 0) return
    for (const note of kept) this.#onNote(from, note)
    for (const link of this.#links) link.tell(feedTopic, kept)
  }
}
