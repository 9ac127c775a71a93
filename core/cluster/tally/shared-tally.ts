// The workers of one machine count in their parent. While it is away each counts for itself, against its share of the
// limit, so that together they never let more through.
import type { Link } from "../../contract/link.ts"
import type { Limit, Note, Taken, Tally } from "../../contract/tally.ts"
import type { Clock } from "../../kernel/clock.ts"
import { LocalTally } from "./local-tally.ts"

const topics = { take: "tally.take", hold: "tally.hold", release: "tally.release", first: "tally.first" } as const

export class SharedTally implements Tally {
  readonly #link: Link
  readonly #workers: number
  readonly #own: LocalTally

  constructor({ link, workers, clock }: { link: Link; workers: number; clock: Clock }) {
    this.#link = link
    this.#workers = workers
    this.#own = new LocalTally(clock)
  }

  async take(buckets: readonly Limit[]): Promise<Taken> {
    try {
      return await this.#link.ask<Taken>(topics.take, buckets)
    } catch (error) {
      if (!this.#link.lost) throw error
      return this.#own.take(buckets.map((bucket) => this.#share(bucket)))
    }
  }

  async hold(place: Limit): Promise<(() => void) | undefined> {
    try {
      const hold = await this.#link.ask<number | undefined>(topics.hold, place)
      return hold === undefined ? undefined : () => this.#link.tell(topics.release, hold)
    } catch (error) {
      if (!this.#link.lost) throw error
      return this.#own.hold(this.#share(place))
    }
  }

  async first(note: Note): Promise<string> {
    try {
      return await this.#link.ask<string>(topics.first, note)
    } catch (error) {
      if (!this.#link.lost) throw error
      return this.#own.first(note)
    }
  }

  #share({ id, limit }: Limit): Limit {
    return { id, limit: Math.max(1, Math.floor(limit / this.#workers)) }
  }
}

/** The parent's side, for one worker; what it held is free when it is gone. */
export function serveTally(link: Link, tally: Tally): void {
  const holds = new Map<number, () => void>()
  let last = 0
  link.answer(topics.take, (buckets: readonly Limit[]) => tally.take(buckets))
  link.answer(topics.first, (note: Note) => tally.first(note))
  link.answer(topics.hold, async (place: Limit) => {
    const release = await tally.hold(place)
    if (!release) return undefined
    holds.set(++last, release)
    if (link.lost) release()
    return last
  })
  link.hear(topics.release, (hold: number) => {
    holds.get(hold)?.()
    holds.delete(hold)
  })
  link.onLost(() => {
    for (const release of holds.values()) release()
  })
}
