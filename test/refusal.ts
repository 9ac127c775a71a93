// Returns the refusal of a call, for tests that call functions. Over HTTP it is the answer's body.
import { AppError } from "../core/kernel/errors.ts"

type Call = Promise<unknown> | (() => unknown)

/** Returns the AppError of a call. Throws if the call succeeded or failed with another error. */
export async function refusalOf(call: Call): Promise<AppError> {
  const error = await failureOf(call)
  if (error instanceof AppError) return error
  throw error
}

/** Returns the error of a call. Throws if the call succeeded. */
export async function failureOf(call: Call): Promise<Error & { code?: string; details?: Record<string, unknown> }> {
  try {
    await (typeof call === "function" ? call() : call)
  } catch (error) {
    return error as Error
  }
  throw new Error("It succeeded, where it was to be refused.")
}
