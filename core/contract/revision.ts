// Optimistic concurrency: a change names the revision that its caller read.
import { AppError } from "../kernel/errors.ts"

/**
 * Throws `aborted` where the caller read another revision than the stored one. `what` names the kind of resource, such as
 * `dataset`; `which` is further details that tell this one, where a call changes several.
 */
export function requireRevision(
  what: string,
  stored: number,
  expected: number | undefined,
  which: Readonly<Record<string, string>> = {},
): void {
  if (expected === undefined || expected === stored) return
  throw new AppError("aborted", `The ${what} is at revision ${stored}, not ${expected}. Read it again and repeat the change.`, {
    ...which,
    reason: "revision_mismatch",
    current_revision: stored,
  })
}
