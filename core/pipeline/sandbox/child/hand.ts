// Watches a child's current work and its deadline. The work is a group of events, or a program in compilation. The isolate
// increments the index of the current event in shared memory.
// V8's timeout does not stop native calls. Isolates run in their own threads, so this thread can watch them.
// The deadline counts CPU time, so a child without CPU time is not blamed. Twelve times the deadline in wall time also ends the
// child. Excess sleep of this thread does not count, because then the process or the machine was paused.
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
 * Returns the CPU time of the current work: all threads except this one. This thread meanwhile reads waiting input of any size.
 * The work runs in a thread of isolated-vm, with help from V8's threads.
 */
export function cpuMs(): number {
  const all = process.cpuUsage()
  const own = process.threadCpuUsage()
  return (all.user + all.system - own.user - own.system) / 1_000
}
