// Connections by organization and origin. A slow answer to one organization takes no connection from another. Calls are
// bounded in total, and pools without calls are closed.
import type { Agent } from "undici"
import { AppError, allDone, type Clock } from "#core"

/** Concurrent calls of all organizations. */
const maxCalls = 256
const maxPools = 100
const idleMs = 60_000

interface Pool {
  readonly agent: Promise<Agent>
  calls: number
  usedAt: number
}

export class Pools {
  readonly #open: () => Promise<Agent>
  readonly #clock: Clock
  /** In the order of their last use. */
  readonly #pools = new Map<string, Pool>()
  #calls = 0
  #cancelSweep: (() => void) | undefined

  constructor(open: () => Promise<Agent>, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  /** Throws `unavailable` if the organization's calls reach three times the number of free slots. */
  async use<T>(organization: string, call: (agent: Agent) => Promise<T>): Promise<T> {
    const pool = this.#pool(organization)
    if (pool.calls >= 3 * (maxCalls - this.#calls)) throw full()
    pool.calls++
    this.#calls++
    try {
      return await call(await pool.agent)
    } finally {
      pool.calls--
      this.#calls--
      pool.usedAt = this.#clock.monotonic()
    }
  }

  async close(): Promise<void> {
    this.#cancelSweep?.()
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await allDone(pools.map(async ({ agent }) => (await agent).destroy()))
  }

  #pool(organization: string): Pool {
    const existing = this.#pools.get(organization)
    const pool = existing ?? { agent: this.#open(), calls: 0, usedAt: this.#clock.monotonic() }
    this.#pools.delete(organization)
    this.#pools.set(organization, pool)
    if (!existing && this.#pools.size > maxPools) this.#closeIdle(0, 1)
    this.#cancelSweep ??= this.#clock.after(idleMs, () => this.#sweep())
    return pool
  }

  #sweep(): void {
    this.#cancelSweep = undefined
    this.#closeIdle(idleMs, this.#pools.size)
    if (this.#pools.size > 0) this.#cancelSweep = this.#clock.after(idleMs, () => this.#sweep())
  }

  /** Closes pools after this idle time, the longest idle first. */
  #closeIdle(milliseconds: number, limit: number): void {
    const before = this.#clock.monotonic() - milliseconds
    let remaining = limit
    for (const [organization, { agent, calls, usedAt }] of this.#pools) {
      if (remaining === 0) return
      if (calls > 0 || usedAt > before) continue
      remaining--
      this.#pools.delete(organization)
      // The agent finishes its requests first. Callers do not wait for the end.
      agent.then((ready) => ready.close()).catch(() => undefined)
    }
  }
}

function full(): AppError {
  const message = `No call was made: this service makes at most ${maxCalls} calls at once. Try again in a second.`
  return new AppError("unavailable", message, { reason: "overloaded" }, { retryAfterS: 1, notTried: true })
}
