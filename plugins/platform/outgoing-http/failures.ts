// Converts call failures to AppErrors with cause and `retryable`. Messages name the origin and the error code, never path, query,
// headers or body.
import { AppError } from "#core"

/** Permanent errors. A retry cannot help. */
const lasting: ReadonlySet<string> = new Set([
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
])

/** This process or machine has no free file descriptor. The receiver is not the cause. */
const localCodes: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"])

export function explain(error: unknown, origin: string, signal: AbortSignal): AppError {
  const appError = signal.aborted && error === signal.reason ? undefined : findAppError(error)
  if (appError) return appError
  if (signal.aborted) {
    return isLate(signal.reason)
      ? new AppError("deadline_exceeded", `${origin} did not respond before the deadline.`, { reason: "timeout" }, { cause: error })
      : new AppError("canceled", `The call to ${origin} was canceled by its caller.`, { reason: "canceled" }, { cause: error })
  }
  const code = codeOf(error)
  if (code.startsWith("Z_") || code.startsWith("ERR__ERROR_FORMAT") || code.startsWith("ERR_BROTLI")) {
    const message = `${origin} sent a body that cannot be decompressed (${code}).`
    return new AppError("failed_precondition", message, { reason: "invalid_encoding", retryable: false }, { cause: error })
  }
  if (localCodes.has(code)) {
    const message = `${origin} was not called: this service has no file descriptor left (${code}). Raise its limit of open files.`
    return new AppError("unavailable", message, { reason: "no_descriptors" }, { cause: error, notTried: true })
  }
  const details = { reason: "connection_failed" as const, cause: code, ...(lasting.has(code) ? { retryable: false } : {}) }
  return new AppError("unavailable", `The call to ${origin} failed (${code}).`, details, { cause: error })
}

/** The deadline of the call itself, or of its caller. */
function isLate(reason: unknown): boolean {
  if (reason instanceof AppError) return reason.code === "deadline_exceeded"
  return reason instanceof DOMException && reason.name === "TimeoutError"
}

/** The refusal may be wrapped: one error for each tried address. */
function findAppError(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error
  if (error instanceof AggregateError) return error.errors.map(findAppError).find((appError) => appError !== undefined)
  if (error instanceof Error && error.cause !== undefined) return findAppError(error.cause)
  return undefined
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === "string" ? code : error instanceof Error ? error.name : "unknown"
}
