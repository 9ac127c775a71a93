// A run child from its lane's side. It tracks the bundle and the programs sent to the child, and ends an unresponsive child.
import type { Clock } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config.ts"
import { residentBytes } from "../../process/confined-child.ts"
import { ChildLink, type Loss } from "./child-link.ts"
import type { Program } from "./sandbox.ts"

export interface RunChildHandlers {
  onFrame(parts: string[]): void
  onLost(loss: Loss, wasReady: boolean): void
  /** The current work exceeds its time, and the child may soon be lost. */
  onSlow(): void
  /** `undenied` lists the rights that the platform could not remove. */
  onStarted(milliseconds: number, undenied: readonly string[]): void
}

const startMs = 30_000
const silentMs = 10_000
const minTickMs = 25
const slowTicks = 2

export class RunChild {
  readonly ready: Promise<void>
  readonly #clock: Clock
  readonly #link: ChildLink
  /** Digest of the last program sent for a pipeline. The child may have evicted it, and then requests it again. */
  readonly #sent = new Map<string, string>()
  #isReady = false
  #unanswered = 0
  readonly #tickMs: number
  readonly #onSlow: () => void
  /** Ticks since its last answer, or since its first work. */
  #ticks = 0
  #ticking = false
  #cancelTimer: () => void

  constructor(config: CoreConfig["sandbox"], clock: Clock, bundle: () => Promise<string>, handlers: RunChildHandlers) {
    this.#clock = clock
    this.#tickMs = Math.max(minTickMs, config.timeout_ms)
    this.#onSlow = handlers.onSlow
    const startedAt = clock.monotonic()
    const ready = Promise.withResolvers<void>()
    this.ready = ready.promise
    this.ready.catch(() => {})
    const parameters = [config.memory_mb, config.timeout_ms, config.hard_deadline_ms, config.max_isolates].map(String)
    const program = { entry: new URL("./child/run-main.ts", import.meta.url), parameters, bundle }
    this.#link = new ChildLink(program, {
      onReady: (undenied) => {
        this.#cancelTimer()
        this.#isReady = true
        ready.resolve()
        handlers.onStarted(clock.monotonic() - startedAt, undenied)
      },
      onFrame: (parts) => {
        this.#answered()
        handlers.onFrame(parts)
      },
      onLost: (loss) => {
        this.#cancelTimer()
        ready.reject(new Error(`The sandbox's child could not start: ${loss.stderr.trim() || loss.signal}`))
        handlers.onLost(loss, this.#isReady)
      },
    })
    this.#cancelTimer = clock.after(startMs, () => this.#link.kill())
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** Resident memory in MB. 0 if it is unreadable: the process is gone, or the system has no /proc. */
  async residentMb(): Promise<number> {
    return (await residentBytes(this.#link.pid ?? 0)) / 1_048_576
  }

  /** `deadlineMs` "" means the default deadline. */
  run(id: number, key: string, program: Program, batch: string, deadlineMs: string): void {
    const known = this.#sent.get(key) === program.digest
    this.#sent.set(key, program.digest)
    const text = known ? ["", "", ""] : ["1", program.validator ?? "", program.transform ?? ""]
    if (this.#unanswered++ === 0) this.#ticks = 0
    if (!this.#ticking) this.#tick()
    this.#link.send(["run", String(id), key, program.digest, ...text, batch, deadlineMs])
  }

  /** The child has evicted the pipeline's program. */
  hasNot(key: string): void {
    this.#sent.delete(key)
  }

  forget(pipelineId: string): void {
    for (const key of this.#sent.keys()) {
      if (!key.endsWith(`/${pipelineId}`)) continue
      this.#sent.delete(key)
      this.#link.send(["forget", key])
    }
  }

  cork(): void {
    this.#link.cork()
  }

  uncork(): void {
    this.#link.uncork()
  }

  stop(): Promise<void> {
    return this.#link.stop()
  }

  #answered(): void {
    this.#unanswered--
    this.#ticks = 0
  }

  #tick(): void {
    this.#ticking = true
    this.#cancelTimer = this.#clock.after(this.#tickMs, () => {
      this.#ticking = false
      if (this.#unanswered === 0) return
      this.#ticks++
      if (this.#ticks === slowTicks) this.#onSlow()
      if (this.#ticks * this.#tickMs >= silentMs) this.#link.kill()
      else this.#tick()
    })
  }
}
