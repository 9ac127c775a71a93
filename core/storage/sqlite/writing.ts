// What the driver hands its commits to: the owner of the file in this process (owner.ts), or the one in the parent that
// several workers share (remote-writer.ts).
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Commit } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import type { WireError } from "./wire.ts"

/** For a commit: a digit a write (1: made a document), or what refused it. */
export type Outcome = string | WireError

export interface Writing {
  /** Opens the file and lays out what is missing. Throws with every problem it found. */
  start(collections: readonly CollectionSpec[]): Promise<void>
  /** Commits a group, given packed (packed.ts) and as what this was made of; one outcome each, in order. Throws `unavailable` when the group may be repeated. */
  group(group: string, commits: readonly Commit[]): Promise<readonly Outcome[]>
  /** Resolves when a commit could be made now. */
  probe(): Promise<void>
  stop(): Promise<void>
}

export function notOpen(): AppError {
  return new AppError("unavailable", "Storage is not open.", { reason: "not_started" }, { retryAfterS: 1 })
}
