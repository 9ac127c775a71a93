// Requests that the service itself could not serve: answered 503, or 500 where sending them again would not help. They are
// counted by reason and logged at a bounded rate, whether it was before their life as an event began (this node may not
// act, the pipeline cannot be loaded), when they have no journal entry, or within it.

import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { BoundedLog, type Logger } from "../../kernel/log.ts"
import { reasonOf, sendAgain } from "../event/reject.ts"

export class UnservedRequests {
  readonly #log: BoundedLog
  readonly #count: (reason: string) => void

  constructor(log: Logger, clock: Clock, count: (reason: string) => void) {
    this.#log = new BoundedLog(log, clock)
    this.#count = count
  }

  /** Of an event that had begun; `fault` is what its sender is told. */
  note(fault: AppError): void {
    if (fault.code !== "unavailable" && fault.code !== "internal") return
    const reason = reasonOf(fault)
    this.#count(reason)
    // A defect is logged where it is met, with its event.
    if (fault.code === "unavailable") this.#unavailable(reason, fault.cause ?? fault)
  }

  /** Of a request that is not an event yet. Returns the error for its sender. */
  refusal(error: unknown, endpoint: string): AppError {
    const reason = error instanceof AppError ? reasonOf(error) : "internal"
    this.#count(reason)
    if (!(error instanceof AppError)) {
      this.#log.error(reason, { err: error }, "an inbound request failed because of a defect of the service")
      return new AppError("internal", "The service failed to process the request.", { reason: "internal" })
    }
    if (error.code === "data_loss") {
      // Sending it again would not help: somebody must put back what is lost.
      this.#log.error(`${reason} ${endpoint}`, { err: error, endpoint }, "a pipeline cannot accept events: data that it needs is lost")
      return new AppError("data_loss", "This pipeline cannot accept events until an operator has repaired it.", { reason: "unreadable" })
    }
    this.#unavailable(reason, error)
    return sendAgain("The service cannot accept events now; send it again.", error)
  }

  #unavailable(reason: string, error: unknown): void {
    this.#log.warn(reason, { err: error, reason }, "inbound requests are answered 503")
  }
}
