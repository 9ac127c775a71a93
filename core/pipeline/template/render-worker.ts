// The main thread's end of the render thread: one template at a time, organizations by turns, each with a bounded queue.
// The thread is started when it is first needed, and replaced where a template takes it too long or too much memory.
import { Worker } from "node:worker_threads"
import type { Clock } from "../../kernel/clock.ts"
import { throwUncaught } from "../../kernel/defect.ts"
import { AppError } from "../../kernel/errors.ts"
import { FairLimiter } from "../../kernel/fair-limiter.ts"
import type { RenderAnswer, RenderTask } from "./render-thread.ts"
import { exhausted } from "./renderer.ts"

export interface Rendered {
  readonly value: unknown
  readonly units: number
  readonly output: number
}

/** Waiting templates, of all and of one organization; beyond, the step is retried later. */
const maxWaiting = 512
const maxWaitingPerOrganization = 64
/** A last resort against native code that counts no units: a search, a sort. Of the processor's time: a thread that is not given it is not blamed. */
const deadlineMs = 1_000
/** Between two looks at what the thread has used. */
const lookMs = 250
/** After so many checks without CPU use it is ended, too. */
const maxLooks = 48
const memory = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }

export class RenderWorker {
  readonly #clock: Clock
  readonly #limiter: FairLimiter
  readonly #stopping = new AbortController()
  #thread: Worker | undefined
  #current: PromiseWithResolvers<Rendered> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#limiter = new FairLimiter({ slots: 1, maxWaiting, maxWaitingPerOrganization, now: () => clock.monotonic(), refusal: overloaded })
  }

  /** Throws AppError: `template_failed` or `template_budget`, not retryable, or `unavailable` where too many wait. */
  render(organization: string, task: RenderTask): Promise<Rendered> {
    return this.#limiter.run({ organization, signal: this.#stopping.signal }, () => this.#give(task))
  }

  async stop(): Promise<void> {
    const reason = new AppError("unavailable", "The service is stopping.", { reason: "stopping" })
    this.#stopping.abort(reason)
    this.#current?.reject(reason)
    await this.#thread?.terminate()
  }

  #give(task: RenderTask): Promise<Rendered> {
    const rendered = Promise.withResolvers<Rendered>()
    const thread = this.#started()
    this.#current = rendered
    thread.postMessage(task)
    const cancel = this.#watch(thread)
    return rendered.promise.finally(cancel)
  }

  /** Replaces the thread where what it has in hand uses more than the deadline. Answers what ends the watch. */
  #watch(thread: Worker): () => void {
    let cancel = () => {}
    let ended = false
    let looks = 0
    let usedAtStart: number | undefined
    const judge = (used: NodeJS.CpuUsage) => {
      const usedMs = (used.user + used.system) / 1_000
      usedAtStart ??= usedMs
      if (!ended && usedMs - usedAtStart > deadlineMs) this.#replace(thread)
    }
    const look = () => {
      if (++looks > maxLooks) return this.#replace(thread)
      cancel = this.#clock.after(lookMs, look)
      // A thread that is just coming up, or gone, has no figure.
      thread.cpuUsage().then(judge, () => {})
    }
    cancel = this.#clock.after(lookMs, look)
    return () => {
      ended = true
      cancel()
    }
  }

  #started(): Worker {
    if (this.#thread) return this.#thread
    const thread = new Worker(new URL("./render-thread.ts", import.meta.url), {
      name: "millrace-templates",
      resourceLimits: memory,
      env: {},
    })
    thread.unref()
    thread.on("message", (answer: RenderAnswer) => this.#answered(thread, answer))
    // Out of memory, or a fault of our own: either way the template in hand is not rendered again.
    thread.on("error", () => this.#replace(thread))
    this.#thread = thread
    return thread
  }

  #answered(thread: Worker, { value, units, output, problem }: RenderAnswer): void {
    if (thread !== this.#thread) return
    if (value !== undefined) this.#current?.resolve({ value: JSON.parse(value) as unknown, units, output })
    else if (problem) this.#current?.reject(new AppError("failed_precondition", problem, { reason: "template_failed", retryable: false }))
    else this.#current?.reject(exhausted())
  }

  #replace(thread: Worker): void {
    if (thread !== this.#thread) return
    this.#thread = undefined
    thread.terminate().catch(throwUncaught)
    this.#current?.reject(exhausted())
  }
}

function overloaded(): AppError {
  return new AppError("unavailable", "Too many templates are waiting to be rendered.", { reason: "overloaded" }, { retryAfterS: 1 })
}
