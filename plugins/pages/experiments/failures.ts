// What the ledger may say of a failure: an AppError's own words; texts of other errors are not for callers.
import { AppError } from "#core"

export interface ToldFailure {
  readonly message: string
  /** The error's registered reason. */
  readonly reason: string
}

export function told(error: unknown): ToldFailure {
  if (!(error instanceof AppError)) return { message: "The service failed.", reason: "internal" }
  return { message: error.message, reason: String(error.details.reason ?? error.code) }
}
