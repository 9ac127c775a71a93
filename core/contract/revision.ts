// Optimistic concurrency: a change names the revision read by its caller.
import { timestamp } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Document } from "./collection.ts"
import { changesOf } from "./store.ts"
import type { StagedCollection } from "./unit-of-work.ts"

/**
 * Throws `aborted` if the caller's revision is not the stored one. `what` is the kind of resource, such as `dataset`. `which`
 * adds details that identify the resource, for calls that change several.
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

/**
 * Stages a change with its time and the next revision. If the document has changed since the read, the commit fails with
 * `aborted`. Undefined fields stay unchanged; without defined fields, no write is staged. Returns the changed document.
 */
export function stageRevision<D extends Document & { readonly revision: number; readonly updated_at: string }>(
  collection: StagedCollection<D>,
  stored: D,
  change: { readonly [Field in Exclude<keyof D, "id" | "organization_id">]?: D[Field] | undefined },
  now: number,
): D {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  if (given.length === 0) return stored
  const changed = { ...Object.fromEntries(given), updated_at: timestamp(now), revision: stored.revision + 1 }
  collection.update(stored.id, { $set: changesOf(changed) }, { where: { revision: stored.revision } })
  return { ...stored, ...changed }
}
