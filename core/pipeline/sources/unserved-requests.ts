// Requests that the service failed to serve. They are answered 503, or 500 if a retry would not help. They are counted by reason
// and logged at a bounded rate. A request without a loaded pipeline, or on a node without a lease, is not an event yet. It has no
// journal entry.

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

  /** Notes the failure of an event. `fault` is the error for the sender. */
  note(fault: AppError): void {
    if (fault.code !== "unavailable" && fault.code !== "internal") return
    const reason = reasonOf(fault)
    this.#count(reason)
    // A defect is already logged with its event.
    if (fault.code === "unavailable") this.#unavailable(reason, fault.cause ?? fault)
  }

  /** Notes the failure of a request before it became an event. Returns the error for the sender. */
  refusal(error: unknown, endpoint: string): AppError {
    const reason = error instanceof AppError ? reasonOf(error) : "internal"
    this.#count(reason)
    if (!(error instanceof AppError)) {
      this.#log.error(reason, { err: error }, "an inbound request failed because of a defect of the service")
      return new AppError("internal", "The service failed to process the request.", { reason: "internal" })
    }
    if (error.code === "data_loss") {
      // A retry would not help. An operator must restore the lost data.
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
