// A concurrency limiter that organizations share fairly: work waits in a FairScheduler, by organization and, where the
// caller names one, by key, and starts when its turn comes and a slot is free.
import { FairScheduler, type FairSchedulerOptions, type Share, type Turn } from "./fair-scheduler.ts"

/** Bounds of a FairLimiter: slots, and how much may wait, in total and of one organization. */
export interface FairLimiterOptions extends Omit<FairSchedulerOptions<never>, "refuse"> {
  readonly slots: number
  /** The error for work that a bound refuses. */
  readonly refusal: (bound: "organization" | "total") => Error
}

/** Work that waits for a slot of a FairLimiter, and whose it is. */
export interface LimitedWork {
  readonly organization: string
  /** Work of one organization takes turns by this. */
  readonly key?: string
  /** Ends the wait; what runs is not touched. */
  readonly signal?: AbortSignal
}

interface Waiting {
  start(turn: Turn<Waiting>): void
  refuse(reason: unknown): void
}

/** Runs asynchronous work in a bounded number of slots, by organization in turn. */
export class FairLimiter {
  readonly #scheduler: FairScheduler<Waiting>

  constructor({ refusal, ...options }: FairLimiterOptions) {
    this.#scheduler = new FairScheduler<Waiting>({ ...options, refuse: (item, bound) => item.refuse(refusal(bound)) })
  }

  /** Rejects as `work` does, with `refusal` at a bound, and with the signal's reason where that comes before the start. */
  async run<T>(who: LimitedWork, work: () => Promise<T>): Promise<T> {
    const turn = await this.#turn(who)
    try {
      return await work()
    } finally {
      turn.done()
      this.#startNext()
    }
  }

  /** What waits and runs, by organization, those that wait longest first. */
  shares(): Share[] {
    return this.#scheduler.shares()
  }

  #turn({ organization, key = "", signal }: LimitedWork): Promise<Turn<Waiting>> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const leave = () => {
        if (this.#scheduler.remove(organization, key, item)) reject(signal?.reason)
      }
      const item: Waiting = {
        start: (turn) => {
          signal?.removeEventListener("abort", leave)
          resolve(turn)
        },
        refuse: (reason) => {
          signal?.removeEventListener("abort", leave)
          reject(reason)
        },
      }
      signal?.addEventListener("abort", leave, { once: true })
      this.#scheduler.add(organization, key, item)
      this.#startNext()
    })
  }

  #startNext(): void {
    for (let turn = this.#scheduler.next(); turn; turn = this.#scheduler.next()) turn.items[0]?.start(turn)
  }
}
