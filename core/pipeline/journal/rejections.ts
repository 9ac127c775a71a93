// Folds rejections over a cap per pipeline and minute, so a flood cannot fill the disk. Each cause has a folded entry with a
// count and the first and last time. Counts stay in memory and are written every second. A crash loses less than a second of
// counts, and no accepted event.
import type { Store } from "../../contract/store.ts"
import { StagedWork } from "../../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { derivedUuidInOrder, type Ids } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { EntryCollection, noteLate } from "./collections.ts"
import type { JournalEntry } from "./entry.ts"

interface Minute {
  at: number
  own: number
}

interface Folded {
  entry: JournalEntry
  organization: string
  added: number
  written: boolean
}

export interface RejectionsArgs {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly node: string
  readonly perMinute: number
}

export class Rejections {
  readonly #args: RejectionsArgs
  readonly #minutes = new Map<string, Minute>()
  readonly #folded = new Map<string, Folded>()
  #cancel: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(args: RejectionsArgs) {
    this.#args = args
  }

  /** Returns true if a rejection of this pipeline may have its own entry in this minute, and counts it. */
  takesOwnEntry(pipelineId: string): boolean {
    const tally = this.#tally(pipelineId, this.#minute())
    return tally.own++ < this.#args.perMinute
  }

  async stop(): Promise<void> {
    this.#cancel?.()
    await this.flush()
  }

  flush(): Promise<void> {
    const flushed = this.#writing.then(() => this.#write())
    this.#writing = flushed.catch(() => undefined)
    return flushed
  }

  #minute(): number {
    return Math.floor(this.#args.clock.now() / 60_000)
  }

  #tally(pipelineId: string, minute: number): Minute {
    const known = this.#minutes.get(pipelineId)
    if (known?.at === minute) return known
    if (this.#minutes.size > 10_000) this.#minutes.clear()
    const fresh = { at: minute, own: 0 }
    this.#minutes.set(pipelineId, fresh)
    return fresh
  }

  /** Adds a rejection to the folded entry of its cause and minute. Returns the id of the folded entry. Synchronous. */
  fold(organization: string, entry: JournalEntry): string {
    const key = `${entry.pipeline_id} ${entry.cause} ${this.#minute()}`
    let folded = this.#folded.get(key)
    if (folded) {
      folded.added++
      folded.entry.last_at = entry.last_at
    } else {
      const id = derivedUuidInOrder(this.#args.ids.uuid(), this.#args.node, key)
      folded = { organization, added: 1, written: false, entry: { ...entry, id, count: 0 } }
      this.#folded.set(key, folded)
    }
    this.#flushLater()
    return folded.entry.id
  }

  #flushLater(): void {
    this.#cancel ??= this.#args.clock.after(1_000, () => {
      this.#cancel = undefined
      this.flush().catch((error: unknown) => {
        this.#args.log.warn({ err: error }, "counts of folded rejections could not be written; retrying")
        this.#flushLater()
      })
    })
  }

  async #write(): Promise<void> {
    const now = this.#minute()
    const work = new StagedWork(`${this.#args.node}:folded:${this.#args.clock.monotonic()}`)
    const written: { folded: Folded; added: number }[] = []
    for (const [key, folded] of this.#folded) {
      if (folded.added > 0) {
        const { entry, organization, added } = folded
        const entries = work.in(EntryCollection, organization)
        if (folded.written)
          entries.update(entry.id, { $inc: { count: added }, $set: { last_at: timestamp(Date.parse(entry.last_at)) } }, { optional: true })
        else {
          entries.insert({ ...entry, count: added })
          noteLate(work, organization, entry, this.#args.clock.now())
        }
        written.push({ folded, added })
      } else if (!key.endsWith(` ${now}`)) this.#folded.delete(key)
    }
    if (written.length === 0) return
    await this.#args.store.commit(work.commit)
    for (const { folded, added } of written) {
      folded.added -= added
      folded.written = true
    }
  }
}
