// A service that answers events before their commits are on disk. It replaces a function of the group committer.
// The crash suite must detect this fault at any kill. Loaded with --import, by tests only.
import type { Commit } from "../../../core/contract/store.ts"
import { GroupCommit } from "../../../core/storage/commit.ts"

const real = GroupCommit.prototype.commit
const lateMs = 100

GroupCommit.prototype.commit = function early(this: GroupCommit, commit: Commit) {
  const isEvent = commit.writes.some(({ kind, collection }) => kind === "insert" && collection.name === "executions")
  if (!isEvent) return real.call(this, commit)
  setTimeout(() => void real.call(this, commit).catch(() => undefined), lateMs)
  return Promise.resolve({ created: commit.writes.map(() => true) })
}
