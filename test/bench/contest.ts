// Measures servers side by side. Each is warmed up, then all take turns, forwards and backwards, so a slower machine slows all of
// them.
// After each run of a server that stores its requests, its books are checked.
import type { Load, Measured, RequestSpec } from "./load/load.ts"
import { BenchProblem } from "./options.ts"
import type { Books } from "./service/books.ts"
import type { ProcessTree } from "./service/cpu.ts"
import { median } from "./table.ts"

export interface Contestant {
  readonly name: string
  readonly request: Omit<RequestSpec, "prefix">
  /** For servers that store their requests. */
  readonly keeps?: Keeper
  /** Documents per request. Default: one row and one entry. */
  readonly leaves?: Books
  /** Seconds of warm-up for compilation. Default: 8. */
  readonly warmSeconds?: number
}

export interface Keeper {
  books(): Promise<Books>
  /** Returns the causes of refused requests. */
  explain(): Promise<string>
  readonly tree: ProcessTree
}

interface Run extends Measured {
  /** CPU microseconds of the server per answer, its children included. Storing servers only. */
  readonly server_us: number
  /** The same by thread. */
  readonly threads_us: ReadonlyMap<string, number>
}

/** Returns a contestant's figures in order of the runs. Default: events per second. */
export type Figures = (name: string, of?: Exclude<keyof Run, "others" | "threads_us">) => number[]

export interface ContestOptions {
  readonly connections: number
  readonly seconds: number
  readonly runs: number
  /** Evenly spaced requests per second; absent: the maximum rate. */
  readonly perSecond?: number
}

/** Assumed rate of a server without measurements. */
const firstGuess = 15_000

let prefixes = 0

export class Contest {
  readonly #load: Load
  readonly #contestants: readonly Contestant[]
  /** Last measured rate by name. It decides the number of requests of a run. */
  readonly #counts = new Map<string, number>()
  /** Figures of the last `runs`. */
  #all = new Map<string, Run[]>()

  constructor(load: Load, contestants: readonly Contestant[]) {
    this.#load = load
    this.#contestants = contestants
  }

  async warm(connections: number): Promise<void> {
    for (const contestant of this.#contestants) {
      let secondsLeft = contestant.warmSeconds ?? 8
      // A short run first, to determine the number of requests of the other.
      for (const seconds of [Math.min(2, secondsLeft), secondsLeft - 2]) {
        if (seconds <= 0) continue
        await this.#run(contestant, { connections, seconds })
        secondsLeft -= seconds
      }
    }
  }

  /** Throws if a run is void. */
  async runs({ runs, ...options }: ContestOptions): Promise<Figures> {
    const all = new Map(this.#contestants.map(({ name }) => [name, [] as Run[]]))
    this.#all = all
    for (let run = 0; run < runs; run++) {
      const turn = run % 2 === 0 ? this.#contestants : this.#contestants.toReversed()
      for (const contestant of turn) all.get(contestant.name)?.push(await this.#run(contestant, options))
    }
    return (name, of = "perSecond") => (all.get(name) ?? []).map((run) => run[of])
  }

  /**
   * Returns CPU microseconds per answer by thread: medians of the last runs, highest first, without threads under half a
   * microsecond.
   */
  threadsOf(name: string): [thread: string, us: number][] {
    const runs = this.#all.get(name) ?? []
    const threads = new Set(runs.flatMap((run) => [...run.threads_us.keys()]))
    const costs = [...threads].map((thread): [string, number] => [thread, median(runs.map((run) => run.threads_us.get(thread) ?? 0))])
    return costs.filter(([, us]) => us >= 0.5).sort(([, a], [, b]) => b - a)
  }

  async #run({ name, request, keeps, leaves = { rows: 1, entries: 1 } }: Contestant, options: Omit<ContestOptions, "runs">): Promise<Run> {
    const { connections, seconds, perSecond } = options
    const rate = perSecond ?? (this.#counts.get(name) ?? firstGuess) * 1.5
    // Requests to servers without storage may repeat.
    const count = keeps ? rate * (seconds + 1) + connections * 2 : 20_000
    await this.#load.prepare({ ...request, prefix: `p${++prefixes}` }, count)
    const before = await keeps?.books()
    const cpu = keeps?.tree.threadsUs()
    const measured = await this.#load.run({
      url: request.url,
      connections,
      seconds,
      repeat: !keeps,
      ...(perSecond === undefined ? {} : { perSecond }),
    })
    const threads_us = new Map<string, number>()
    for (const [thread, us] of keeps?.tree.threadsUs() ?? [])
      threads_us.set(thread, (us - (cpu?.get(thread) ?? 0)) / Math.max(1, measured.ok))
    if (keeps && before) await check(keeps, name, measured, leaves, before)
    if (measured.other > 0) throw new VoidRun(`${name}: ${measured.other} requests were not answered with 2xx (${measured.others})`)
    if (perSecond === undefined) this.#counts.set(name, measured.perSecond)
    return { ...measured, threads_us, server_us: [...threads_us.values()].reduce((sum, us) => sum + us, 0) }
  }
}

/** A run with unusable figures. */
class VoidRun extends BenchProblem {
  constructor(why: string) {
    super(`The run is void: ${why}.`)
  }
}

async function check(keeps: Keeper, name: string, { ok, other, others }: Measured, leaves: Books, before: Books): Promise<void> {
  const after = await keeps.books()
  const [entries, rows] = [after.entries - before.entries, after.rows - before.rows]
  if (entries === ok * leaves.entries && rows === ok * leaves.rows && other === 0) return
  const otherwise = other > 0 ? `${other} otherwise (${others})` : "none otherwise"
  const why = await keeps.explain()
  throw new VoidRun(`${name}: ${ok} answered with 2xx, ${otherwise}; ${entries} entries, ${rows} rows${why === "" ? "" : `; ${why}`}`)
}
