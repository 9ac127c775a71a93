// Client of the render thread on the main thread. It renders one template at a time. Organizations take turns, each with a
// bounded queue. The thread starts on demand. It is replaced if a template uses too much time or memory.
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { FairLimiter } from "../../kernel/fair-limiter.ts"
import { ConfinedThread } from "../../process/confined-thread.ts"
import { OnDemand } from "../../process/on-demand.ts"
import { PeerLost } from "../../process/peer.ts"
import type { RenderAnswer, RenderTask } from "./render-thread.ts"
import { exhausted } from "./renderer.ts"

export interface Rendered {
  readonly value: unknown
  readonly units: number
  readonly output: number
}

/** Maximum waiting templates in total and per organization. Above them, the step retries later. */
const maxWaiting = 512
const maxWaitingPerOrganization = 64
/**
 * Last resort against native code without unit charges, such as a search or a sort. Measures CPU time, so an unscheduled thread
 * does not time out.
 */
const deadlineMs = 1_000
const memory = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 }

export class RenderWorker {
  readonly #clock: Clock
  readonly #limiter: FairLimiter
  readonly #stopping = new AbortController()
  readonly #threads: OnDemand<ConfinedThread>

  constructor(clock: Clock) {
    this.#clock = clock
    this.#limiter = new FairLimiter({ slots: 1, maxWaiting, maxWaitingPerOrganization, now: () => clock.monotonic(), refusal: overloaded })
    const main = new URL("./render-thread.ts", import.meta.url)
    this.#threads = new OnDemand(() => new ConfinedThread({ main, name: "millrace-templates", limits: memory }), clock)
  }

  /** Throws AppError: `template_failed` or `template_budget`, both permanent, or `unavailable` if too many templates wait. */
  render(organization: string, task: RenderTask): Promise<Rendered> {
    return this.#limiter.run({ organization, signal: this.#stopping.signal }, () => this.#threads.use((thread) => this.#in(thread, task)))
  }

  async stop(): Promise<void> {
    const reason = new AppError("unavailable", "The service is stopping.", { reason: "stopping" })
    this.#stopping.abort(reason)
    await this.#threads.stop(reason)
  }

  async #in(thread: ConfinedThread, task: RenderTask): Promise<Rendered> {
    const cancelDeadline = thread.cpuDeadline(deadlineMs, this.#clock)
    try {
      const { value, units, output, problem } = await thread.ask<RenderAnswer>(task)
      if (value !== undefined) return { value: JSON.parse(value) as unknown, units, output }
      throw problem ? new AppError("failed_precondition", problem, { reason: "template_failed", retryable: false }) : exhausted()
    } catch (error) {
      // Out of memory, or a fault of the service. Neither is retried for this template.
      throw error instanceof PeerLost && error.exit.killed !== "stop" ? exhausted() : error
    } finally {
      cancelDeadline()
    }
  }
}

function overloaded(): AppError {
  return new AppError("unavailable", "Too many templates are waiting to be rendered.", { reason: "overloaded" }, { retryAfterS: 1 })
}
