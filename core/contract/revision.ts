// Optimistic concurrency: a change names the revision that its caller read.
import { AppError } from "../kernel/errors.ts"

/** Throws `aborted` where the caller read another revision than the stored one. `what` names the resource, such as `dataset`. */
export function requireRevision(what: string, stored: number, expected: number | undefined): void {
  if (expected === undefined || expected === stored) return
  throw new AppError("aborted", `The ${what} is at revision ${stored}, not ${expected}. Read it again and repeat the change.`, {
    reason: "revision_mismatch",
    current_revision: stored,
  })
}
