// Calls that wait for a run child, by pipeline. They leave in groups of one pipeline and one program each; pipelines take
// turns, so that a flood of one does not hold up the others.
import type { Clock } from "../../kernel/clock.ts"
import { type Job, unavailable } from "./job.ts"

const mostInGroup = 64
/** Characters of bodies and contexts. */
const longestGroup = 262_144
const longestWaitMs = 10_000

export class WaitingCalls {
  readonly #clock: Clock
  readonly #queues = new Map<string, Job[]>()
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#count
  }

  add(job: Job): void {
    this.#queue(job.key).push(job)
    this.#count++
  }

  /** Back to the head of their pipeline's queue. */
  addFirst(key: string, jobs: readonly Job[]): void {
    if (jobs.length === 0) return
    this.#queue(key).unshift(...jobs)
    this.#count += jobs.length
  }

  /** Pipelines by turns: one that was taken from, and has more, comes again behind the others. */
  turns(): Iterable<string> {
    return this.#queues.keys()
  }

  /** The pipeline's next group; empty where what it would hold has waited too long and was refused. */
  take(key: string): Job[] {
    const queue = this.#queues.get(key) ?? []
    const oldest = this.#clock.monotonic() - longestWaitMs
    const jobs: Job[] = []
    const digest = queue[0]?.call.program.digest
    let length = 0
    let taken = 0
    for (const job of queue) {
      const grown = length + job.call.body.length + job.call.context.length
      const ends = jobs.length >= mostInGroup || (jobs.length > 0 && (grown > longestGroup || job.alone || jobs[0]?.alone))
      if (ends || job.call.program.digest !== digest) break
      taken++
      if (job.queuedAt < oldest) {
        job.resolve(unavailable(`The event waited longer than ${longestWaitMs / 1_000} s for the sandbox.`))
        continue
      }
      length = grown
      jobs.push(job)
    }
    queue.splice(0, taken)
    this.#count -= taken
    this.#queues.delete(key)
    if (queue.length > 0) this.#queues.set(key, queue)
    return jobs
  }

  /** Refuses all of them. */
  refuse(message: string): void {
    const jobs = [...this.#queues.values()].flat()
    this.#queues.clear()
    this.#count = 0
    for (const job of jobs) job.resolve(unavailable(message))
  }

  #queue(key: string): Job[] {
    let queue = this.#queues.get(key)
    if (!queue) {
      queue = []
      this.#queues.set(key, queue)
    }
    return queue
  }
}
