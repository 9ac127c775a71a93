// Classifies errors of the server or the connection: retry elsewhere, retry unchanged, or give up.
import { MongoError, MongoNetworkError, MongoServerError, MongoServerSelectionError, MongoWriteConcernError } from "mongodb"
import { AppError, asAppError } from "../../kernel/errors.ts"

/**
 * Codes of a primary that stepped down, shuts down, is lost or is not yet elected. Also codes of expired waits for the majority
 * or for time.
 */
const lostCodes = new Set([6, 7, 64, 89, 91, 189, 262, 9001, 10058, 10107, 11600, 11602, 13388, 13435, 13436])
const tooLargeCodes = new Set([10334, 17419, 17420])
const refusedCodes = new Set([2, 9, 14, 28, 40, 52, 54, 55, 56, 57, 66, 171])

/** The server is unreachable or cannot write now. The outcome of the request is unknown. */
export function isLost(error: unknown): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError || error instanceof MongoWriteConcernError)
    return true
  if (!(error instanceof MongoError)) return false
  const code = Number(error.code)
  return (
    lostCodes.has(code) ||
    error.hasErrorLabel("RetryableWriteError") ||
    /^Mongo(NotConnected|TopologyClosed|ClientClosed|OperationTimeout|ExpiredSession)/.test(error.name)
  )
}

/** A conflict with another transaction on the same documents. A retry may succeed. */
export function isConflict(error: unknown): boolean {
  return error instanceof MongoError && (error.hasErrorLabel("TransientTransactionError") || Number(error.code) === 112)
}

export function isTimeout(error: unknown): boolean {
  return error instanceof MongoServerError && Number(error.code) === 50
}

export function unavailable(what: string, cause?: unknown): AppError {
  const options = cause === undefined ? { retryAfterS: 1 } : { retryAfterS: 1, cause }
  return new AppError("unavailable", `${what} Retry shortly.`, { reason: "storage_unavailable" }, options)
}

export interface WriteTrouble {
  readonly code: number
  readonly message: string
  readonly keyPattern?: Readonly<Record<string, unknown>>
}

/**
 * The driver's command buffer is slightly larger than the largest document. A command over the buffer means that a document is
 * too large.
 */
export function isTooLarge(error: unknown): boolean {
  return error instanceof RangeError && "code" in error && error.code === "ERR_OUT_OF_RANGE"
}

export function tooLarge(collection: string): AppError {
  const message = `${collection}: a document of this commit would be larger than 16 MB; split it.`
  return new AppError("invalid_argument", message, { reason: "document_too_large", collection })
}

/** The server refuses the operation on the current document, for example `$inc` of text. */
export function refusedWrite(collection: string, trouble: WriteTrouble): AppError {
  if (tooLargeCodes.has(trouble.code)) return tooLarge(collection)
  if (refusedCodes.has(trouble.code)) {
    const message = `${collection}: ${trouble.message}`
    return new AppError("failed_precondition", message, { collection, reason: "value_type_mismatch" })
  }
  return asAppError(new Error(`${collection}: ${trouble.code} ${trouble.message}`))
}
