// Separate children for offenders. A child serves a single pipeline, or all pipelines of an organization. Their number is small,
// and they end when idle.
import { allDone, throwUncaught } from "../../kernel/promises.ts"
import { type Job, unavailable } from "./job.ts"
import { Lane, type LaneOptions } from "./lane.ts"

const most = 4
const idleMs = 10_000

export class PenaltyLanes {
  readonly #options: LaneOptions
  readonly #lanes = new Map<string, Lane>()

  constructor(options: LaneOptions) {
    this.#options = { ...options, keepsSpare: false }
  }

  /** Returns the separate lane of a pipeline or organization. Returns undefined if all lanes are busy with others. */
  lane(key: string): Lane | undefined {
    const own = this.#lanes.get(key)
    if (own) return own
    if (this.#lanes.size >= most && !this.#endIdle()) return undefined
    const lane = new Lane(this.#options)
    this.#lanes.set(key, lane)
    this.#endWhenIdle(key, lane)
    return lane
  }

  /** Runs each event of a group that crashed a child alone, so only the culprit fails. */
  suspects(jobs: readonly Job[]): void {
    for (const job of jobs) {
      const lane = this.lane(job.key)
      job.alone = true
      if (lane) lane.add(job)
      else job.resolve(unavailable("The event shared a process with one that ended it, and no other process is free."))
    }
  }

  forget(pipelineId: string): void {
    for (const lane of this.#lanes.values()) lane.forget(pipelineId)
  }

  async stop(): Promise<void> {
    const lanes = [...this.#lanes.values()]
    this.#lanes.clear()
    await allDone(lanes.map((lane) => lane.stop()))
  }

  #endIdle(): boolean {
    for (const [key, lane] of this.#lanes) {
      if (lane.busy) continue
      this.#end(key, lane)
      return true
    }
    return false
  }

  #endWhenIdle(key: string, lane: Lane): void {
    this.#options.clock.after(idleMs, () => {
      if (this.#lanes.get(key) !== lane) return
      if (lane.busy) this.#endWhenIdle(key, lane)
      else this.#end(key, lane)
    })
  }

  #end(key: string, lane: Lane): void {
    this.#lanes.delete(key)
    lane.stop().catch(throwUncaught)
  }
}
