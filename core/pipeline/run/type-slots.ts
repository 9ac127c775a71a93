// Slots of an action type, with three limits. A quarter of the slots is reserved for organizations without a running step. A
// pipeline takes at most a third of the free slots of its organization. A destination has a fixed number of slots.
import { FairLines } from "../../kernel/fair-lines.ts"
import type { Share } from "../../kernel/fair-scheduler.ts"
import type { Rest, StepCaller } from "./step-slots.ts"

/** Total slots of the type, as a multiple of the slots of a destination. */
const slotsPerDestination = 8
/** Maximum waiting steps, as the same kind of multiple. It is small, because their executions stay in memory. */
const waitingPerDestination = 4
/** Maximum resting executions. They are stored by id only. */
const maxResting = 750

interface Waiting {
  start(): void
}

interface Resting {
  /** Undefined until the execution has left memory. */
  wake?: () => void
  /** True if its turn came before that. */
  isCalled: boolean
}

export class TypeSlots {
  /** Slots of a destination of an organization. */
  readonly #perDestination: number
  readonly #slots: number
  readonly #reserved: number
  readonly #now: () => number
  readonly #lines = new FairLines<Waiting>()
  readonly #resting = new FairLines<Resting>()
  /** Running steps by organization, pipeline, destination, and destination of a pipeline. */
  readonly #running = new Map<string, number>()
  #total = 0
  /** Per organization: its last turn, or the later start of its wait. */
  readonly #since = new Map<string, number>()

  constructor(perDestination: number, now: () => number) {
    this.#perDestination = perDestination
    this.#slots = perDestination * slotsPerDestination
    this.#reserved = Math.floor(this.#slots / 4)
    this.#now = now
  }

  async run<T>(caller: StepCaller, work: () => Promise<T>): Promise<T> {
    const path = pathOf(caller)
    await this.#turn(path, caller.signal)
    try {
      return await work()
    } finally {
      this.#count(path, -1)
      this.#startNext()
      this.#wakeOne()
    }
  }

  rest(caller: StepCaller): Rest | undefined {
    const path = pathOf(caller)
    const startsNow = this.#lines.waiting(path) === 0 && path.every((_, at) => this.#may(path.slice(0, at + 1)))
    if (startsNow || this.#hasRoomInLine(path)) return undefined
    if (this.#resting.waiting(path) >= maxResting - this.#resting.waiting()) return undefined
    const resting: Resting = { isCalled: false }
    this.#noteWaiting(caller.organization)
    this.#resting.add(path, resting)
    return {
      onTurn: (wake) => {
        if (resting.isCalled) wake()
        else resting.wake = wake
      },
      leave: () => void this.#resting.remove(path, resting),
    }
  }

  /** Waiting, resting and running steps by organization, longest wait first. */
  shares(): Share[] {
    const now = this.#now()
    const shares: Share[] = []
    for (const [organization, since] of this.#since) {
      const waiting = this.#waitingOf(organization)
      const running = this.#running.get(organization) ?? 0
      if (waiting + running === 0) this.#since.delete(organization)
      else shares.push({ organization, waiting, running, waitingMs: waiting > 0 ? now - since : 0 })
    }
    return shares.sort((a, b) => b.waitingMs - a.waitingMs)
  }

  #turn(path: readonly string[], signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const leave = () => {
        if (this.#lines.remove(path, item)) reject(signal.reason)
      }
      const item: Waiting = {
        start: () => {
          signal.removeEventListener("abort", leave)
          resolve()
        },
      }
      signal.addEventListener("abort", leave, { once: true })
      this.#noteWaiting(path[0] as string)
      this.#lines.add(path, item)
      this.#startNext()
    })
  }

  #startNext(): void {
    for (;;) {
      const turn = this.#lines.next((path) => this.#may(path))
      if (!turn) return
      this.#count(turn.path, 1)
      this.#since.set(turn.path[0] as string, this.#now())
      turn.item.start()
    }
  }

  /** Wakes a single step per finished step, so the queue stays full and never overflows. */
  #wakeOne(): void {
    const turn = this.#resting.next((path) => path.length < 3 || this.#hasRoomInLine(path))
    if (!turn) return
    turn.item.isCalled = true
    turn.item.wake?.()
  }

  /** A pipeline takes at most half of the remaining room, and always has room for one step. */
  #hasRoomInLine(path: readonly string[]): boolean {
    const ofPipeline = this.#lines.waiting(path.slice(0, 2))
    if (ofPipeline === 0) return true
    const left = this.#perDestination * waitingPerDestination - this.#lines.waiting()
    return ofPipeline < left && this.#lines.waiting(path) < this.#perDestination
  }

  /** Returns true if a step below this path may start. */
  #may(path: readonly string[]): boolean {
    const [organization = "", pipeline, destination] = path
    const free = this.#slots - this.#total
    const ofOrganization = this.#runningAt(organization)
    if (pipeline === undefined) return free > 0 && (ofOrganization === 0 || free > this.#reserved)
    if (destination === undefined) {
      const running = this.#runningAt(keyOf(organization, pipeline))
      return running === 0 || running < Math.min(this.#slots - this.#reserved - ofOrganization, free) / 3
    }
    const left = this.#perDestination - this.#runningAt(keyOf(organization, "", destination))
    return left > 0 && this.#runningAt(keyOf(organization, pipeline, destination)) < 3 * left
  }

  #count([organization = "", pipeline = "", destination = ""]: readonly string[], change: 1 | -1): void {
    this.#total += change
    for (const key of [
      organization,
      keyOf(organization, pipeline),
      keyOf(organization, "", destination),
      keyOf(organization, pipeline, destination),
    ]) {
      const running = this.#runningAt(key) + change
      if (running > 0) this.#running.set(key, running)
      else this.#running.delete(key)
    }
  }

  #runningAt(key: string): number {
    return this.#running.get(key) ?? 0
  }

  #waitingOf(organization: string): number {
    return this.#lines.waiting([organization]) + this.#resting.waiting([organization])
  }

  #noteWaiting(organization: string): void {
    if (this.#waitingOf(organization) === 0) this.#since.set(organization, this.#now())
    if (this.#since.size > 10_000) this.shares()
  }
}

/** Steps of a pipeline without a destination share a common one. */
function pathOf({ organization, pipeline, destination }: StepCaller): readonly string[] {
  return [organization, pipeline, destination === "" ? `pipeline ${pipeline}` : destination]
}

function keyOf(...parts: readonly string[]): string {
  return parts.join("\n")
}
