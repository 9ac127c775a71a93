// Counts the events of this node in memory, and writes the counts every few seconds. Each event costs a few additions. A crash
// loses the unwritten counts.
import { Clock, type Deps, defineCollection, Log, Store, timestamp, UnitsOfWork } from "#core"
import { type SettledEvent, SettledEvents } from "#core/engine"
import { type CountedDocument, mayPassLater, mergeDocument } from "../merged-document.ts"
import {
  addMinute,
  blockOf,
  bucketOf,
  type Counts,
  emptyMinute,
  type MinuteCounts,
  minutesPerBlock,
  none,
  outcomes,
  readBlock,
  sumOf,
  writeBlock,
} from "./counts.ts"

const writtenEveryMs = 5_000
const keptMinutes = 24 * 60
/** Bound on unwritten minutes over all organizations. At the bound, events are not counted until the next write. */
const maxPending = 5_000
const ones: readonly Counts[] = outcomes.map((_, at) => [at === 0 ? 1 : 0, at === 1 ? 1 : 0, at === 2 ? 1 : 0])

/** Counts of one minute. */
interface Pending {
  readonly organization: string
  readonly minute: number
  counts: Counts
  readonly latencies: number[]
  readonly pipelines: Map<string, Counts>
}

export class ActivityCounter {
  static readonly inject = { store: Store, works: UnitsOfWork, clock: Clock, log: Log, settled: SettledEvents }
  readonly #deps: Deps<typeof ActivityCounter.inject>
  /** The current minute of each organization. */
  readonly #current = new Map<string, Pending>()
  /** Past minutes, and minutes whose write failed. */
  #owed: Pending[] = []
  #cancel: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: Deps<typeof ActivityCounter.inject>) {
    this.#deps = deps
  }

  /** Counts a received event. Ignores tests and replays. */
  observe({ entry, stored, isTest, isReplay, isCounted }: SettledEvent): void {
    if (isTest || isReplay || !isCounted) return
    const pending = this.#pendingOf(stored.organization.id)
    if (!pending) return
    const { latencies, pipelines } = pending
    let ms = 0
    for (const stage in entry.timings) ms += entry.timings[stage] ?? 0
    const bucket = bucketOf(ms)
    latencies[bucket] = (latencies[bucket] ?? 0) + 1
    const one = ones[outcomes.indexOf(entry.status)] ?? none
    pending.counts = sumOf(pending.counts, one)
    pipelines.set(stored.id, sumOf(pipelines.get(stored.id) ?? none, one))
  }

  /** Writes this node's counts. */
  flush(): Promise<void> {
    this.#deps.settled.flush()
    const flushed = this.#writing.then(() => this.#write())
    this.#writing = flushed.catch(() => undefined)
    return flushed
  }

  async stop(): Promise<void> {
    this.#cancel?.()
    await this.flush()
  }

  #pendingOf(organization: string): Pending | undefined {
    const minute = Math.floor(this.#deps.clock.now() / 60_000)
    const current = this.#current.get(organization)
    if (current?.minute === minute) return current
    if (current) this.#owed.push(current)
    this.#current.delete(organization)
    if (this.#current.size + this.#owed.length >= maxPending) return undefined
    const pending: Pending = { organization, minute, counts: none, latencies: [...emptyMinute.latencies], pipelines: new Map() }
    this.#current.set(organization, pending)
    this.#writeLater()
    return pending
  }

  #writeLater(): void {
    this.#cancel ??= this.#deps.clock.after(writtenEveryMs, () => {
      this.#cancel = undefined
      this.flush().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, "counts of events could not be written; retrying")
        this.#writeLater()
      })
    })
  }

  async #write(): Promise<void> {
    this.#owed.push(...this.#current.values())
    this.#current.clear()
    for (let one = this.#owed[0]; one; one = this.#owed[0]) {
      const { organization, minute } = one
      const id = blockId(organization, blockOf(minute))
      try {
        await mergeDocument(this.#deps, EventMinutes, { organization, id }, (stored) => merged(stored, one))
      } catch (error) {
        if (mayPassLater(error)) throw error
        this.#deps.log.error({ err: error, organization }, "counts of events were refused and are dropped")
      }
      this.#owed = this.#owed.filter((other) => other !== one)
    }
  }
}

function merged(stored: BlockRecord | undefined, { minute, counts, latencies, pipelines }: Pending) {
  const { minutes = {}, pipelines: others = {} } = stored ?? {}
  const at = minute % minutesPerBlock
  const own = [...pipelines].map(([id, more]) => {
    const block = new Map(readBlock(others[id] ?? ""))
    return [id, writeBlock(block.set(at, sumOf(block.get(at) ?? none, more)))]
  })
  return {
    minutes: { ...minutes, [minute]: addMinute(minutes[minute] ?? emptyMinute, { counts, latencies }) },
    pipelines: { ...others, ...Object.fromEntries(own) },
    expires_at: timestamp((blockOf(minute) + 1) * minutesPerBlock * 60_000 + keptMinutes * 60_000),
  }
}

export interface BlockRecord extends CountedDocument {
  /** Counts by minute since the epoch. */
  minutes: Record<string, MinuteCounts>
  /** Counts by pipeline ID, in the format of `writeBlock`. */
  pipelines: Record<string, string>
  expires_at: string
}

/**
 * Counts of an organization's events per minute, with latencies and pipelines. Holds only counts, for a day. A document covers
 * ten minutes.
 */
export const EventMinutes = defineCollection<BlockRecord>()({
  name: "event_minutes",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
  statistics: true,
})

export function blockId(organization: string, block: number): string {
  return `${organization}:${String(block).padStart(7, "0")}`
}
