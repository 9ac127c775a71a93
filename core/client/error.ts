// What a failed call throws: the service's own error with its code and details, or, where no answer came, the code that
// fits best (`unavailable`, `deadline_exceeded`, `canceled`).
import type { ErrorCode, ErrorDetails } from "../kernel/errors.ts"

export interface ClientErrorOptions {
  /** HTTP status; 0 where there was no answer. */
  readonly status?: number
  /** To be quoted when the failure is reported. */
  readonly requestId?: string | undefined
  /** Seconds after which trying again makes sense. */
  readonly retryAfterS?: number | undefined
  readonly cause?: unknown
}

/** What a call failed with: the service's own code, message and details, or `unavailable` where nobody answered. */
export class ClientError extends Error {
  readonly code: ErrorCode
  /** `reason` is a stable word; `fields` names what was wrong where. */
  readonly details: ErrorDetails
  readonly status: number
  readonly requestId: string | undefined
  readonly retryAfterS: number | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options: ClientErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = "ClientError"
    this.code = code
    this.details = details
    this.status = options.status ?? 0
    this.requestId = options.requestId
    this.retryAfterS = options.retryAfterS
  }
}
