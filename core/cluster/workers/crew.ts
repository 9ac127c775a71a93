// The workers as processes: started, the first one alone, since it may have to make what the others find; started again
// when they die, with a growing pause where they die young; killed when they hang; stopped together.
import type { ChildProcess } from "node:child_process"
import type { Link } from "../../contract/link.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import { type Hello, workerTopics } from "./hub.ts"

export interface CrewOptions {
  readonly workers: number
  readonly launch: (slot: number) => ChildProcess
  readonly clock: Clock
  readonly log: Logger
  /** How long a stop waits before it kills. */
  readonly stopWithinMs: number
  /** Told of each worker that ended and is started again, with the link that it had. */
  readonly onDeath: (link: Link | undefined) => void
}

/** What a worker says once it listens. */
export interface Listening {
  readonly url: string
  readonly greetings: readonly string[]
}

interface Slot {
  readonly number: number
  child: ChildProcess
  link: Link | undefined
  listens: boolean
  /** Deaths in a row within `youngMs` of the start. */
  deaths: number
  startedAt: number
  whenListening: (said: Listening) => void
  /** Of one that never listened: whoever started the service is told. */
  whenDead: (() => void) | undefined
  failure: string | undefined
}

const youngMs = 10_000
const firstPauseMs = 200
const longestPauseMs = 10_000
const checkMs = 5_000
/** A worker that has answered nothing for so long is killed. */
const hangMs = 30_000

export class Crew {
  readonly #options: CrewOptions
  readonly #slots: Slot[] = []
  #stopping = false

  constructor(options: CrewOptions) {
    this.#options = options
  }

  /** How many listen now. */
  get listening(): number {
    return this.#slots.filter(({ listens, link }) => listens && link && !link.lost).length
  }

  /** Resolves when all of them listen, with what the first one said. Throws why the first could not start. */
  async start(): Promise<Listening> {
    const first = await this.#begin(0)
    await Promise.all(Array.from({ length: this.#options.workers - 1 }, (_, index) => this.#begin(index + 1)))
    return first
  }

  /** Takes in a worker that says it is one of these; `onListening` hears when it listens. Throws when it is not. */
  arrived({ pid, slot }: Hello, link: Link, onListening: (said: Listening) => void): void {
    const place = slot === undefined ? undefined : this.#slots[slot]
    if (!place || place.child.pid !== pid) throw new Error(`Process ${pid} is no worker of this parent.`)
    const { child } = place
    place.link = link
    link.hear(workerTopics.listening, (said: Listening) => {
      place.listens = true
      onListening(said)
      place.whenListening(said)
    })
    link.answer(workerTopics.failed, (message: string) => {
      place.failure = message
    })
    // The link of a living process breaks only when that process is beyond use.
    link.onLost(() => {
      if (!this.#stopping) child.kill("SIGKILL")
    })
    if (this.#stopping) link.tell(workerTopics.stop)
    this.#watch(place.number, child, link)
  }

  /** Asks all to stop and waits for them; kills those that take too long. */
  async stop(): Promise<void> {
    this.#stopping = true
    const living = this.#slots.filter(({ child }) => isAlive(child))
    const gone = living.map(({ child }) => new Promise<void>((resolve) => child.once("exit", () => resolve())))
    for (const { link, child } of living) {
      if (link) link.tell(workerTopics.stop)
      else child.kill("SIGKILL")
    }
    const cancel = this.#options.clock.after(this.#options.stopWithinMs, () => {
      this.#options.log.warn({ within_ms: this.#options.stopWithinMs }, "workers that did not stop in time are killed")
      this.kill()
    })
    await Promise.all(gone)
    cancel()
  }

  kill(): void {
    this.#stopping = true
    for (const { child } of this.#slots) child.kill("SIGKILL")
  }

  #begin(number: number): Promise<Listening> {
    return new Promise((resolve, reject) => {
      const slot: Slot = {
        number,
        child: this.#options.launch(number),
        link: undefined,
        listens: false,
        deaths: 0,
        startedAt: this.#options.clock.monotonic(),
        whenListening: (said) => {
          slot.whenDead = undefined
          resolve(said)
        },
        whenDead: () => reject(new Error(slot.failure ?? `Worker ${number} ended before it listened.`)),
        failure: undefined,
      }
      this.#slots[number] = slot
      this.#tend(slot)
    })
  }

  #tend(slot: Slot): void {
    const { clock, log, onDeath } = this.#options
    const { child } = slot
    const ended = (code: number | null, signal: NodeJS.Signals | null) => {
      const { link } = slot
      slot.link = undefined
      slot.listens = false
      if (slot.whenDead) return slot.whenDead()
      if (this.#stopping) return
      slot.deaths = clock.monotonic() - slot.startedAt < youngMs ? slot.deaths + 1 : 0
      const pause = slot.deaths < 2 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (slot.deaths - 2))
      const why = slot.failure === undefined ? {} : { cause: slot.failure }
      log.warn({ worker: slot.number, pid: child.pid, code, signal, again_in_ms: pause, ...why }, "a worker ended; another takes its place")
      onDeath(link)
      clock.after(pause, () => this.#again(slot))
    }
    child.once("exit", ended)
    child.once("error", (error) => {
      log.error({ err: error, worker: slot.number }, "a worker's process could not be started")
      if (child.pid === undefined) ended(null, null)
    })
  }

  #again(slot: Slot): void {
    if (this.#stopping) return
    const { clock, log, launch } = this.#options
    slot.failure = undefined
    slot.startedAt = clock.monotonic()
    slot.whenListening = () => log.info({ worker: slot.number, pid: slot.child.pid }, "a worker took the place of one that ended")
    slot.child = launch(slot.number)
    this.#tend(slot)
  }

  #watch(worker: number, child: ChildProcess, link: Link): void {
    const { clock, log } = this.#options
    let heardAt = clock.monotonic()
    // One that is still being built refuses the question, and is alive as well.
    const heard = () => {
      heardAt = clock.monotonic()
    }
    const check = () => {
      if (link.lost || this.#stopping) return
      if (clock.monotonic() - heardAt > hangMs) {
        log.error({ worker, pid: child.pid }, "a worker answers no more and is killed")
        child.kill("SIGKILL")
        return
      }
      link.ask(workerTopics.alive).then(heard, heard)
      clock.after(checkMs, check)
    }
    clock.after(checkMs, check)
  }
}

function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}
