// Tracks pipelines that disturb others. A crashed child is a strike. A timeout or a lost isolate is an eighth of a strike.
// After two strikes a pipeline moves to its own child, with a pause that doubles with each further strike. Good behaviour or a
// changed program clears the record. Organizations have the same kind of record over all their pipelines.
import type { Clock } from "../../kernel/clock.ts"

interface Record {
  readonly digest: string
  strikes: number
  at: number
  pausedUntil: number
  good: number
}

export const strike = 1
export const smallStrike = 1 / 8
const pipelinePenaltyFrom = 2
/** With this many strikes an organization has its own child. */
export const organizationPenaltyFrom = 8
const firstPauseMs = 1_000
const maxPauseMs = 300_000
const forgottenMs = 600_000
const goodForPardon = 1_000
const most = 10_000

export class Offenders {
  readonly #clock: Clock
  readonly #records = new Map<string, Record>()

  readonly #penaltyFrom: number

  constructor(clock: Clock, penaltyFrom = pipelinePenaltyFrom) {
    this.#clock = clock
    this.#penaltyFrom = penaltyFrom
  }

  /** Returns true if the pipeline recently delayed or crashed others. */
  isStrained(key: string): boolean {
    return this.#records.has(key)
  }

  hasPenalty(key: string, digest: string): boolean {
    const record = this.#find(key, digest)
    return record !== undefined && record.strikes >= this.#penaltyFrom
  }

  /** Returns the remaining pause of the pipeline in milliseconds, or 0 if it may run. */
  pauseMs(key: string): number {
    const record = this.#records.get(key)
    return record ? Math.max(0, record.pausedUntil - this.#clock.monotonic()) : 0
  }

  /** Adds strikes. Returns the resulting pause in milliseconds. */
  add(key: string, digest: string, weight: number): number {
    const now = this.#clock.monotonic()
    const record = this.#find(key, digest) ?? { digest, strikes: 0, at: now, pausedUntil: 0, good: 0 }
    const before = Math.floor(record.strikes)
    record.strikes += weight
    record.at = now
    record.good = 0
    this.#records.delete(key)
    this.#records.set(key, record)
    if (this.#records.size > most) this.#forgetOldest()
    const whole = Math.floor(record.strikes)
    if (whole < this.#penaltyFrom || whole === before) return 0
    const pause = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(20, whole - this.#penaltyFrom))
    record.pausedUntil = now + pause
    return pause
  }

  /** Counts events that ran correctly. */
  good(key: string, events: number): void {
    const record = this.#records.get(key)
    if (!record) return
    record.good += events
    if (record.good >= goodForPardon) this.#records.delete(key)
  }

  #find(key: string, digest: string): Record | undefined {
    const record = this.#records.get(key)
    if (!record) return undefined
    const now = this.#clock.monotonic()
    if (record.digest === digest && now < Math.max(record.pausedUntil, record.at) + forgottenMs) return record
    this.#records.delete(key)
    return undefined
  }

  #forgetOldest(): void {
    for (const key of this.#records.keys()) {
      this.#records.delete(key)
      return
    }
  }
}
