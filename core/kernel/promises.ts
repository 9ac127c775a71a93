// Waits for a batch of tasks. `Promise.all` returns at the first rejection and leaves the other tasks running.

/** Resolves when every task has ended. Returns their values, or throws the first rejection in task order. */
export async function allDone<T>(tasks: Iterable<T | PromiseLike<T>>): Promise<Awaited<T>[]> {
  const outcomes = await Promise.allSettled(tasks)
  const failed = outcomes.find((outcome) => outcome.status === "rejected")
  if (failed) throw failed.reason
  return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<Awaited<T>>).value)
}

// Promises without a caller. Their code handles each expected error itself.

/** Rejection handler for such a promise. Throws the error as an uncaught exception, so the process drains and ends. */
export function throwUncaught(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}
