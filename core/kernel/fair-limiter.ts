// A concurrency limiter with fair shares for organizations. Work waits in a FairScheduler by organization and optional key.
// Work starts at its turn, when a slot is free.
import { FairScheduler, type FairSchedulerOptions, type Share, type Turn } from "./fair-scheduler.ts"

/** Bounds of a FairLimiter: slots, and the maximum waiting work in total and per organization. */
export interface FairLimiterOptions extends Omit<FairSchedulerOptions<never>, "refuse"> {
  readonly slots: number
  /** Returns the error for work refused at a bound. */
  readonly refusal: (bound: "organization" | "total") => Error
}

/** Waiting work of a FairLimiter, with its organization. */
export interface LimitedWork {
  readonly organization: string
  /** Keys of one organization take turns. */
  readonly key?: string
  /** Ends the wait. Running work continues. */
  readonly signal?: AbortSignal
}

interface Waiting {
  start(turn: Turn<Waiting>): void
  refuse(reason: unknown): void
}

/** Runs asynchronous work in a bounded number of slots. Organizations take turns. */
export class FairLimiter {
  readonly #scheduler: FairScheduler<Waiting>

  constructor({ refusal, ...options }: FairLimiterOptions) {
    this.#scheduler = new FairScheduler<Waiting>({ ...options, refuse: (item, bound) => item.refuse(refusal(bound)) })
  }

  /** Rejects with the error of `work`, with `refusal` at a bound, or with the reason of a signal aborted before the start. */
  async run<T>(who: LimitedWork, work: () => Promise<T>): Promise<T> {
    const turn = await this.#turn(who)
    try {
      return await work()
    } finally {
      turn.done()
      this.#startNext()
    }
  }

  /** Returns waiting and running work by organization, longest wait first. */
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
