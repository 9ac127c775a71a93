// Promises without a caller. Their code handles each expected error itself.

/** Rejection handler for such a promise: throws the error as an uncaught exception, so that the process drains and ends. */
export function throwUncaught(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}
