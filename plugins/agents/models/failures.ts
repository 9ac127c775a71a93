// Converts failures of model calls to the service's errors. A provider's text is shown only if it concerns the request, because
// other texts may contain a key.
import { AppError } from "#core"

export interface FailedCall {
  readonly model: string
  /** True if the caller aborted. */
  readonly canceled: boolean
  readonly timeoutMs: number
}

const maxQuoted = 300

/** Returns an AppError, or the original error if it is not a failure of the call. */
export async function failureOf(error: unknown, { model, canceled, timeoutMs }: FailedCall): Promise<unknown> {
  if (error instanceof AppError) return error
  const { APICallError, NoObjectGeneratedError, RetryError } = await import("ai")
  if (canceled) return new AppError("canceled", "The call was canceled.", { reason: "canceled" }, { cause: error })
  const last = RetryError.isInstance(error) ? error.lastError : error
  if (last instanceof AppError) return last
  if (isTimeout(error) || isTimeout(last)) {
    return new AppError(
      "deadline_exceeded",
      `The model ${model} did not answer within ${timeoutMs} ms.`,
      { reason: "model_timeout" },
      { cause: error },
    )
  }
  if (NoObjectGeneratedError.isInstance(last)) return unusable(model, last.finishReason, last.text, error)
  // Other errors are bugs of this service.
  if (!APICallError.isInstance(last)) return last
  const { statusCode: status } = last
  if (status === undefined) return unavailable(`The provider of the model ${model} could not be reached.`, error)
  if (last.isRetryable)
    return unavailable(`The provider of the model ${model} answered with status ${status}.`, error, last.responseHeaders)
  if (status < 400) return unusable(model, undefined, undefined, error)
  const explanation = status === 400 || status === 404 || status === 422 ? ` It said: ${last.message.slice(0, maxQuoted)}` : ""
  const message = `The provider of the model ${model} rejected the call with status ${status}.${explanation}`
  return new AppError("failed_precondition", message, { reason: "model_rejected", status, retryable: false }, { cause: error })
}

/** Returns the error of an unusable answer: refused, truncated, or of another form. */
export function unusable(model: string, finish: string | undefined, text: string | undefined, cause?: unknown): AppError {
  if (finish === "content-filter") {
    const why = text ? `: ${text.slice(0, maxQuoted)}` : "."
    return new AppError(
      "failed_precondition",
      `The model ${model} declined to answer${why}`,
      { reason: "model_declined", retryable: false },
      { cause },
    )
  }
  const how = finish === "length" ? "was cut off at its length limit" : "has not the form that was asked for"
  return new AppError(
    "failed_precondition",
    `The answer of the model ${model} ${how}.`,
    { reason: "model_malformed", retryable: false },
    { cause },
  )
}

function unavailable(message: string, cause: unknown, headers: Readonly<Record<string, string>> = {}): AppError {
  const seconds = Number(headers["retry-after"])
  return new AppError(
    "unavailable",
    message,
    { reason: "model_unavailable" },
    { cause, retryAfterS: seconds > 0 ? Math.ceil(seconds) : 10 },
  )
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === "TimeoutError" || isTimeout(error.cause))
}
