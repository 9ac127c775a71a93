// Reads recent event counts over all nodes.
import { Clock, type Deps, Store, token } from "#core"
import { ActivityCounter, type BlockRecord, blockId, EventMinutes } from "./counter.ts"
import { addMinute, blockOf, type Counts, emptyMinute, minutesPerBlock, none, readBlock, readSums, sumOf } from "./counts.ts"

export interface Counted {
  /** The current minute since the epoch. Counts end with it. */
  readonly now: number
  /** Counts of all pipelines, or of the requested pipeline. */
  readonly byMinute: ReadonlyMap<number, Counts>
  /** Latencies over all pipelines. */
  readonly latencies: readonly number[]
  /** Minute of the last event and counts, by pipeline ID. */
  readonly pipelines: ReadonlyMap<string, readonly [last: number, counts: Counts]>
}

export interface EventActivity {
  of(organization: string, minutes: number, pipeline?: string): Promise<Counted>
}

export const EventActivity = token<EventActivity>("EventActivity")

/** Blocks per read. A block of 500 pipelines has 60 KB. */
const blocksAtOnce = 36

export const activityNeeds = { store: Store, clock: Clock, counter: ActivityCounter }

export function eventActivity({ store, clock, counter }: Deps<typeof activityNeeds>): EventActivity {
  /** Yields the blocks, oldest first. */
  async function* blocks(organization: string, first: number, last: number): AsyncGenerator<readonly [number, BlockRecord]> {
    const minutes = store.open(EventMinutes, organization)
    for (let from = first; from <= last; from += blocksAtOnce) {
      const numbers = Array.from({ length: Math.min(blocksAtOnce, last - from + 1) }, (_, at) => from + at)
      const found = await minutes.find({ id: { $in: numbers.map((block) => blockId(organization, block)) } }, { limit: blocksAtOnce })
      const byId = new Map(found.map((one) => [one.id, one]))
      for (const block of numbers) {
        const one = byId.get(blockId(organization, block))
        if (one) yield [block, one]
      }
    }
  }
  return {
    async of(organization, minutes, pipeline) {
      await counter.flush()
      const now = Math.floor(clock.now() / 60_000)
      const tally = new Tally(now - minutes + 1, now, pipeline)
      for await (const [block, counted] of blocks(organization, blockOf(tally.oldest), blockOf(now))) tally.add(block, counted)
      return tally
    },
  }
}

/** Adds up blocks, oldest first. */
class Tally implements Counted {
  readonly oldest: number
  readonly now: number
  readonly byMinute = new Map<number, Counts>()
  readonly pipelines = new Map<string, readonly [number, Counts]>()
  latencies = emptyMinute.latencies
  readonly #pipeline: string | undefined

  constructor(oldest: number, now: number, pipeline: string | undefined) {
    this.oldest = oldest
    this.now = now
    this.#pipeline = pipeline
  }

  add(block: number, { minutes, pipelines }: BlockRecord): void {
    for (const [minute, one] of Object.entries(minutes)) {
      if (!this.#isAsked(Number(minute))) continue
      this.latencies = addMinute({ counts: none, latencies: this.latencies }, one).latencies
      if (this.#pipeline === undefined) this.byMinute.set(Number(minute), one.counts)
    }
    const began = block * minutesPerBlock
    if (this.#pipeline !== undefined) this.#addMinutes(this.#pipeline, began, pipelines[this.#pipeline] ?? "")
    else if (!this.#isAsked(began) || !this.#isAsked(began + minutesPerBlock - 1))
      for (const id in pipelines) this.#addMinutes(id, began, pipelines[id] ?? "")
    else
      for (const id in pipelines) {
        const [last, sums] = readSums(pipelines[id] ?? "")
        this.#addOf(id, began + last, sums)
      }
  }

  #addMinutes(id: string, began: number, text: string): void {
    for (const [at, counts] of readBlock(text)) {
      if (!this.#isAsked(began + at)) continue
      this.#addOf(id, began + at, counts)
      if (this.#pipeline !== undefined) this.byMinute.set(began + at, counts)
    }
  }

  #addOf(id: string, minute: number, counts: Counts): void {
    this.pipelines.set(id, [minute, sumOf(this.pipelines.get(id)?.[1] ?? none, counts)])
  }

  #isAsked(minute: number): boolean {
    return minute >= this.oldest && minute <= this.now
  }
}
