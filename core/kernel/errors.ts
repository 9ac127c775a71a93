// All errors of the service: the closed set of codes with their HTTP statuses. Code throws AppError. Surfaces convert it to their
// own form. Any other exception becomes `internal`. The codes are those of Connect's table, plus three statuses of HTTP's own:
// https://connectrpc.com/docs/protocol#error-codes
import type { Reason } from "./reasons.ts"

/** The closed set of error codes, each with its HTTP status. */
export const httpStatusOf = {
  invalid_argument: 400,
  failed_precondition: 400,
  out_of_range: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  aborted: 409,
  resource_exhausted: 429,
  canceled: 499,
  internal: 500,
  unknown: 500,
  data_loss: 500,
  unimplemented: 501,
  unavailable: 503,
  deadline_exceeded: 504,
} as const

/** The closed set of error codes. */
export type ErrorCode = keyof typeof httpStatusOf

/** Statuses required by HTTP in place of the code's own: 405 `unimplemented`, 413 `resource_exhausted`, 415 `invalid_argument`. */
export type StatusOverride = 405 | 413 | 415

/** A problem with one field of an input. */
export interface FieldProblem {
  /** Dotted path or JSON pointer of the field. */
  path: string
  message: string
}

/**
 * Details of an error; always an object. `reason` is a stable word for programs, registered in reasons.ts or by a plugin.
 * `fields` lists the problem of each field.
 */
export interface ErrorDetails {
  reason?: string
  fields?: FieldProblem[]
  [key: string]: unknown
}

export interface ErrorBody {
  code: ErrorCode
  message: string
  details: ErrorDetails
}

export interface AppErrorOptions {
  cause?: unknown
  status?: StatusOverride
  /** Seconds until a retry makes sense; becomes `Retry-After`. */
  retryAfterS?: number
  /**
   * True if no attempt was made, for example at a full limit. A job or step then returns after `retryAfterS`, and the attempt
   * does not count.
   */
  notTried?: boolean
}

type CodeOf<R extends Reason> = MillraceReasons[R]["code"]

/** Details passed to the constructor: the fields of the reason, and `retryable: false` if a job must not retry. */
type DetailsOf<R extends Reason> = { readonly reason: R; readonly retryable?: boolean } & MillraceReasons[R]["details"]

/**
 * The error type of handlers. The message names the problem, the value and the remedy. The reason is declared, and it fixes the
 * code and the details.
 */
export class AppError<R extends Reason = Reason> extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails
  readonly status: number
  readonly retryAfterS: number | undefined
  readonly notTried: boolean

  constructor(code: CodeOf<R>, message: string, details: DetailsOf<R>, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = "AppError"
    this.code = code
    this.details = details
    this.status = options.status ?? httpStatusOf[code]
    this.retryAfterS = options.retryAfterS
    this.notTried = options.notTried ?? false
  }

  /** Recreates an error of another thread, node or service, or rephrases an error. */
  static from({ code, message, details }: ErrorBody, options: AppErrorOptions = {}): AppError {
    return new AppError(code as CodeOf<Reason>, message, details as DetailsOf<Reason>, options)
  }

  toBody(): ErrorBody {
    return { code: this.code, message: this.message, details: this.details }
  }
}

/** Wraps an unknown exception for callers: a fixed message, with the cause for the log. */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  return new AppError(
    "internal",
    "The service has failed. Quote the request id when you report it.",
    { reason: "internal" },
    { cause: error },
  )
}

/** Returns the milliseconds until a retry, if no attempt was made. */
export function untriedMs({ notTried, retryAfterS }: AppError): number | undefined {
  return notTried && retryAfterS !== undefined ? retryAfterS * 1_000 : undefined
}
