// Optimistic concurrency: a change names the revision that its caller read.
import { timestamp } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Document } from "./collection.ts"
import { changesOf } from "./store.ts"
import type { StagedCollection } from "./unit-of-work.ts"

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

/**
 * Stages a change made for a document as read, with its time and the next revision; where it was changed meanwhile, the
 * commit fails as `aborted`. Fields that are undefined stay as they are; without any other, nothing is staged. Returns the
 * document as it will be.
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
