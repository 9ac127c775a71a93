// What a call was refused with, for tests that call functions; over HTTP it is the answer's body.
import { AppError } from "../core/kernel/errors.ts"

type Call = Promise<unknown> | (() => unknown)

/** The AppError of a call; throws where the call succeeded or broke otherwise. */
export async function refusalOf(call: Call): Promise<AppError> {
  const error = await failureOf(call)
  if (error instanceof AppError) return error
  throw error
}

/** Any error that a call ended with; throws where it succeeded. */
export async function failureOf(call: Call): Promise<Error & { code?: string; details?: Record<string, unknown> }> {
  try {
    await (typeof call === "function" ? call() : call)
  } catch (error) {
    return error as Error
  }
  throw new Error("It succeeded, where it was to be refused.")
}
