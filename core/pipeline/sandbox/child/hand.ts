// What a child has in hand, and the deadline that it ends at: the number of a group of events, or of a program being
// compiled, and the event's index in its group, which the isolate itself counts up in shared memory. Isolates run in
// threads of their own, so that this one can watch them: V8's timeout does not stop native calls. The deadline is of CPU
// time, so that a child that was not given the processor is not blamed; twelve times it in wall time ends it anyway, of
// which what this thread slept too long, because the process or the machine stood still, does not count.
import { writeSync } from "node:fs"
import { frameOf } from "../wire.ts"
import { endSelf } from "./confinement.ts"

const reportFd = 4
const indexAt = 1
const cells = 2

export class Hand {
  readonly shared = new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)
  readonly #cells = new Int32Array(this.shared)
  readonly #hardDeadlineMs: number
  readonly #pauseMs: number
  #id: string | null = null
  #seenIndex = 0
  #cpuAtStart = 0
  #wallMs = 0
  #lookedAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(hardDeadlineMs: number) {
    this.#hardDeadlineMs = hardDeadlineMs
    this.#pauseMs = Math.max(5, Math.floor(hardDeadlineMs / 12))
  }

  get index(): number {
    return Atomics.load(this.#cells, indexAt)
  }

  take(id: string): void {
    this.#id = id
    Atomics.store(this.#cells, indexAt, 0)
    this.#restart(0)
    this.#timer ??= setInterval(() => this.#look(), this.#pauseMs)
  }

  leave(): void {
    this.#id = null
  }

  #restart(index: number): void {
    this.#seenIndex = index
    this.#cpuAtStart = cpuMs()
    this.#wallMs = 0
    this.#lookedAt = performance.now()
  }

  #look(): void {
    if (this.#id === null) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    const at = performance.now()
    this.#wallMs += Math.min(at - this.#lookedAt, 2 * this.#pauseMs)
    this.#lookedAt = at
    const index = this.index
    if (index !== this.#seenIndex) this.#restart(index)
    else if (cpuMs() - this.#cpuAtStart > this.#hardDeadlineMs || this.#wallMs > this.#hardDeadlineMs * 12) {
      writeSync(reportFd, frameOf([this.#id, String(index)]))
      endSelf()
    }
  }
}

/**
 * Of what is in hand, which is all but this thread: meanwhile this one reads what waits, however much that is. It runs in
 * one thread of isolated-vm's, helped by V8's own.
 */
export function cpuMs(): number {
  const all = process.cpuUsage()
  const own = process.threadCpuUsage()
  return (all.user + all.system - own.user - own.system) / 1_000
}
