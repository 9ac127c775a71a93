// Detects that the clock was ahead: wall time is less than before, or less than monotonic time implies. The latest wall time is
// on disk, so a restart detects the correction too. Each part of the service then corrects times set too late.
import type { ClockCorrections, Correct } from "../contract/cluster.ts"
import { defineCollection } from "../contract/collection.ts"
import type { Store } from "../contract/store.ts"
import { StagedWork } from "../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import type { Ids } from "../kernel/ids.ts"
import type { Logger } from "../kernel/log.ts"

interface ClockMark {
  id: string
  /** The latest wall time of any node. */
  at: string
}

interface ClockSetBack {
  id: string
  /** The clock showed this time or a slightly later one. */
  from: string
  to: string
  expires_at: string
}

export const ClockMarks = defineCollection<ClockMark>()({ name: "clock_marks", scope: "global", times: ["at"], indexes: [] })

export const ClockSetBacks = defineCollection<ClockSetBack>()({
  name: "clock_set_backs",
  scope: "global",
  times: ["from", "to", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

export interface ClockWatchOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  /** Smaller differences are normal, since clocks of nodes differ and are adjusted. */
  readonly toleranceMs: number
  /** Called after each correction, for metrics. */
  readonly observe: (aheadMs: number, corrected: Readonly<Record<string, number>>) => void
}

const markId = "latest"
const everyMs = 10_000
const keptMs = 30 * 86_400_000
const maxSetBacks = 100

export class ClockWatch implements ClockCorrections {
  readonly #options: ClockWatchOptions
  readonly #kinds = new Map<string, Correct>()
  #last: { readonly now: number; readonly monotonic: number } | undefined
  #cancel: () => void = () => {}
  #checking: Promise<void> = Promise.resolve()
  #stopped = true

  constructor(options: ClockWatchOptions) {
    this.#options = options
  }

  use(kind: string, correct: Correct): void {
    this.#kinds.set(kind, correct)
  }

  async setBackTo(at: number): Promise<number | undefined> {
    const passed = { from: { $gte: timestamp(at) }, to: { $lte: timestamp(at) } }
    const found = await this.#options.store.open(ClockSetBacks).find(passed, { sort: { to: 1 }, limit: 1 })
    return found[0] && Date.parse(found[0].to)
  }

  async start(): Promise<void> {
    this.#stopped = false
    await this.#check()
    this.#later()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#checking
    await this.#check()
  }

  #later(): void {
    this.#cancel = this.#options.clock.after(everyMs, () => {
      this.#checking = this.#check().finally(() => {
        if (!this.#stopped) this.#later()
      })
    })
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    const { store, clock, log, toleranceMs } = this.#options
    const [now, monotonic] = [clock.now(), clock.monotonic()]
    try {
      const mark = await store.open(ClockMarks).get(markId)
      const measured = this.#last ? this.#last.now + monotonic - this.#last.monotonic : now
      if (this.#last && now - measured > toleranceMs) log.warn({ ahead_s: Math.round((now - measured) / 1_000) }, "the clock was set ahead")
      const latest = Math.max(measured, mark ? Date.parse(mark.at) : now)
      if (latest - now > toleranceMs) await this.#correct(now, latest)
      await this.#mark(now)
      this.#last = { now, monotonic }
    } catch (error) {
      log.warn({ err: error }, "the clock could not be checked; the next check follows")
    }
  }

  async #correct(now: number, latest: number): Promise<void> {
    const { ids, store, log, observe } = this.#options
    const aheadMs = latest - now
    const work = new StagedWork(ids.uuid())
    // The mark may be as old as the check interval.
    const setBack = { from: timestamp(latest + everyMs), to: timestamp(now), expires_at: timestamp(now + keptMs) }
    work.in(ClockSetBacks).insert({ id: ids.uuid(), ...setBack })
    await work.commitTo(store)
    const corrected: Record<string, number> = {}
    for (const [kind, correct] of this.#kinds) corrected[kind] = await correct({ now, aheadMs })
    observe(aheadMs, corrected)
    log.warn(
      { ahead_s: Math.round(aheadMs / 1_000), corrected },
      "the clock was ahead and was set back; the times that it had set too late are corrected",
    )
    await this.#forgetOldest()
  }

  async #forgetOldest(): Promise<void> {
    const { ids, store } = this.#options
    const kept = await store.open(ClockSetBacks).find({}, { sort: { id: -1 }, limit: 2 * maxSetBacks })
    const work = new StagedWork(ids.uuid())
    for (const { id } of kept.slice(maxSetBacks)) work.in(ClockSetBacks).remove(id, { optional: true })
    if (work.writes.length > 0) await work.commitTo(store)
  }

  async #mark(now: number): Promise<void> {
    const { ids, store } = this.#options
    const work = new StagedWork(ids.uuid())
    work.in(ClockMarks).update(markId, { $set: { at: timestamp(now) } }, { upsert: true })
    await work.commitTo(store)
  }
}
