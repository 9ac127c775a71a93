// Counts the events of this node in memory, and writes the counts every few seconds: an event pays for a few additions. A crash
// loses the counts of these seconds.
import { type Clock, type Log, timestamp } from "#core"
import type { SettledEvent } from "#core/engine"
import { type MergeDeps, mergeDocument } from "../merged-document.ts"
import { EventMinutes } from "./collection.ts"
import { addMinute, bucketOf, emptyMinute, type MinuteCounts, outcomes } from "./counts.ts"

const writtenEveryMs = 5_000
export const keptMinutes = 24 * 60
/** Minutes of organizations with unwritten counts; of further ones nothing is counted until these are written. */
const maxPending = 5_000

interface Pending {
  readonly organization: string
  readonly counts: MinuteCounts
}

export interface ActivityDeps extends MergeDeps {
  readonly clock: Clock
  readonly log: (typeof Log)["type"] & {}
}

export class ActivityCounter {
  readonly #deps: ActivityDeps
  /** By organization, of the minute that was counted last. */
  readonly #current = new Map<string, Pending>()
  /** Of minutes that are over, and of those whose write failed. */
  #owed: Pending[] = []
  #cancel: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: ActivityDeps) {
    this.#deps = deps
  }

  /** Events that came in: no test, no replay. */
  observe({ entry, stored, isTest, isReplay, isCounted }: SettledEvent): void {
    if (isTest || isReplay || !isCounted) return
    const counts = this.#countsOf(stored.organization.id)
    if (!counts) return
    let ms = 0
    for (const stage in entry.timings) ms += entry.timings[stage] ?? 0
    const bucket = bucketOf(ms)
    counts[entry.status]++
    counts.latencies[bucket] = (counts.latencies[bucket] ?? 0) + 1
    const own = counts.pipelines[stored.id] ?? [0, 0, 0]
    const outcome = outcomes.indexOf(entry.status)
    own[outcome] = (own[outcome] ?? 0) + 1
    counts.pipelines[stored.id] = own
  }

  /** Writes what this node counted. */
  flush(): Promise<void> {
    const flushed = this.#writing.then(() => this.#write())
    this.#writing = flushed.catch(() => undefined)
    return flushed
  }

  async stop(): Promise<void> {
    this.#cancel?.()
    await this.flush()
  }

  #countsOf(organization: string): MinuteCounts | undefined {
    const minute = Math.floor(this.#deps.clock.now() / 60_000)
    const current = this.#current.get(organization)
    if (current?.counts.minute === minute) return current.counts
    if (current) this.#owed.push(current)
    this.#current.delete(organization)
    if (this.#current.size + this.#owed.length >= maxPending) return undefined
    const counts = emptyMinute(minute)
    this.#current.set(organization, { organization, counts })
    this.#writeLater()
    return counts
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
      const { organization, counts } = one
      const expires_at = timestamp((counts.minute + keptMinutes) * 60_000)
      await mergeDocument(this.#deps, EventMinutes, { organization, id: minuteId(organization, counts.minute) }, (stored) => {
        const { minute, accepted, rejected, failed, latencies, pipelines } = addMinute(
          stored ? addMinute(emptyMinute(counts.minute), stored) : emptyMinute(counts.minute),
          counts,
        )
        return { minute, accepted, rejected, failed, latencies, pipelines, expires_at }
      })
      this.#owed = this.#owed.filter((other) => other !== one)
    }
  }
}

export function minuteId(organization: string, minute: number): string {
  return `${organization}:${String(minute).padStart(8, "0")}`
}
