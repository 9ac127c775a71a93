// The error of a failed call: the service's own error with its code and details. Without an answer, the best matching
// code (`unavailable`, `deadline_exceeded`, `canceled`).
import type { ErrorCode, ErrorDetails } from "../kernel/errors.ts"

export interface ClientErrorOptions {
  /** HTTP status; 0 without an answer. */
  readonly status?: number
  /** Quote this id when you report the failure. */
  readonly requestId?: string | undefined
  /** Seconds until a retry makes sense. */
  readonly retryAfterS?: number | undefined
  readonly cause?: unknown
}

/** The error of a failed call: the service's code, message and details, or `unavailable` without an answer. */
export class ClientError extends Error {
  readonly code: ErrorCode
  /** `reason` is a stable word. `fields` lists the problem of each field. */
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
