// Every error the service answers with, in one place: the closed set of codes and the HTTP status each maps to
// (Connect's table, https://connectrpc.com/docs/protocol#error-codes, plus three statuses of HTTP's own).
// Code throws AppError; surfaces turn it into their own shape; anything else becomes `internal`.
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

/** The closed set of codes that a call can fail with. */
export type ErrorCode = keyof typeof httpStatusOf

/** Statuses that HTTP itself asks for in place of the code's own: 405 `unimplemented`, 413 `resource_exhausted`, 415 `invalid_argument`. */
export type StatusOverride = 405 | 413 | 415

/** What is wrong with one field of an input. */
export interface FieldProblem {
  /** Dotted path or JSON pointer of the field. */
  path: string
  message: string
}

/** Details as they are read: always an object. `reason` is a stable word a program can switch on, registered in reasons.ts or by a plugin; `fields` names what was wrong where. */
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
  /** Seconds after which trying again makes sense; becomes `Retry-After`. */
  retryAfterS?: number
  /** Nothing was tried yet, such as where a limit has no room: a job or step comes back, after `retryAfterS`, and the try does not count. */
  notTried?: boolean
}

type CodeOf<R extends Reason> = MillraceReasons[R]["code"]

/** Details as they are given: those that the reason declares, and `retryable: false` where a job must not try again. */
type DetailsOf<R extends Reason> = { readonly reason: R; readonly retryable?: boolean } & MillraceReasons[R]["details"]

/**
 * The one error that handlers throw. The message says what was wrong, with what value, and what to do. The reason is a
 * declared one; code and details are those that it declares.
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

  /** An error that another thread, node or service made, or one that is told again in other words. */
  static from({ code, message, details }: ErrorBody, options: AppErrorOptions = {}): AppError {
    return new AppError(code as CodeOf<Reason>, message, details as DetailsOf<Reason>, options)
  }

  toBody(): ErrorBody {
    return { code: this.code, message: this.message, details: this.details }
  }
}

/** An unknown exception, as callers may see it: a fixed message, the cause kept for the log. */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  return new AppError(
    "internal",
    "The service has failed. Quote the request id when you report it.",
    { reason: "internal" },
    { cause: error },
  )
}

/** Milliseconds after which to come back, where nothing was tried yet. */
export function untriedMs({ notTried, retryAfterS }: AppError): number | undefined {
  return notTried && retryAfterS !== undefined ? retryAfterS * 1_000 : undefined
}
