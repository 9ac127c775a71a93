// Lines about a fault that repeats with every event or poll: one a kind and interval, with how many were left out since.
import type { Clock } from "./clock.ts"
import type { Logger } from "./log.ts"

const intervalMs = 10_000
/** Kinds remembered; beyond it all are forgotten, and logged again. */
const maxKinds = 1_000

export class BoundedLog {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #kinds = new Map<string, { since: number; omitted: number }>()

  constructor(log: Logger, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  warn(kind: string, fields: object, message: string): void {
    this.#write("warn", kind, fields, message)
  }

  error(kind: string, fields: object, message: string): void {
    this.#write("error", kind, fields, message)
  }

  #write(level: "warn" | "error", kind: string, fields: object, message: string): void {
    const now = this.#clock.monotonic()
    const last = this.#kinds.get(kind)
    if (last && now - last.since < intervalMs) {
      last.omitted++
      return
    }
    if (this.#kinds.size >= maxKinds) this.#kinds.clear()
    this.#kinds.set(kind, { since: now, omitted: 0 })
    this.#log[level](last && last.omitted > 0 ? { ...fields, omitted: last.omitted } : fields, message)
  }
}
