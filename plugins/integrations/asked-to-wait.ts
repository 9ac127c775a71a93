// Vendors that ask to come again later (429, or 503 with Retry-After): until then a connection is not called by this node.
import { AppError, type Clock, type OutgoingResponse } from "#core"

const maxWaitMs = 3_600_000
const maxNoted = 10_000

export class AskedToWait {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws `unavailable` before the time that the vendor named. */
  check({ id, slug }: { readonly id: string; readonly slug: string }): void {
    const until = this.#until.get(id)
    if (until === undefined) return
    const leftMs = until - this.#clock.now()
    if (leftMs <= 0) {
      this.#until.delete(id)
      return
    }
    const retryAfterS = Math.ceil(leftMs / 1_000)
    const message = `The integration "${slug}" was not called: its vendor asked to wait, for ${retryAfterS} s from now.`
    throw new AppError("unavailable", message, { reason: "app_asked_to_wait", retry_after_s: retryAfterS }, { retryAfterS })
  }

  note(id: string, { status, headers }: OutgoingResponse): void {
    if (status !== 429 && status !== 503) return
    const waitMs = waitOf(headers["retry-after"], this.#clock.now())
    if (waitMs <= 0) return
    if (this.#until.size >= maxNoted) this.#until.clear()
    this.#until.set(id, this.#clock.now() + Math.min(waitMs, maxWaitMs))
  }
}

/** Of seconds or of an HTTP date (RFC 9110 section 10.2.3); 0 for anything else. */
function waitOf(text: string | undefined, now: number): number {
  if (text === undefined) return 0
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
