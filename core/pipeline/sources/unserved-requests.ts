// Requests answered 503 or 500 before their life as an event began (this node may not act, the pipeline cannot be
// loaded): they have no journal entry, so they are counted by reason, and logged at a bounded rate.
import { BoundedLog } from "../../kernel/bounded-log.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"

export class UnservedRequests {
  readonly #log: BoundedLog
  readonly #count: (reason: string) => void

  constructor(log: Logger, clock: Clock, count: (reason: string) => void) {
    this.#log = new BoundedLog(log, clock)
    this.#count = count
  }

  /** What the sender is told. */
  refusal(error: unknown, endpoint: string): AppError {
    const reason = error instanceof AppError ? String(error.details.reason ?? error.code) : "internal"
    this.#count(reason)
    if (!(error instanceof AppError)) {
      this.#log.error(reason, { err: error }, "an inbound request failed because of a defect of the service")
      return new AppError("internal", "The service failed to process the request.", { reason })
    }
    if (error.code === "data_loss") {
      // Sending it again would not help: somebody must put back what is lost.
      this.#log.error(`${reason} ${endpoint}`, { err: error, endpoint }, "a pipeline cannot accept events: data that it needs is lost")
      return new AppError("data_loss", "This pipeline cannot accept events until an operator has repaired it.", { reason: "unreadable" })
    }
    this.#log.warn(reason, { err: error, reason }, "inbound requests are answered 503")
    const message = "The service cannot accept events now; send it again."
    return new AppError("unavailable", message, { reason }, { retryAfterS: 1, cause: error })
  }
}
