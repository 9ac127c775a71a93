// The record of successful commits: their ids and results, a document per group, stored for an hour. The commits' own transaction
// writes it. After an unknown outcome, a repeated commit finds itself in the unique index and returns its first result.
import { type Db, UUID } from "mongodb"
import type { CommitResult } from "../../contract/store.ts"
import { isUuid } from "../../kernel/ids.ts"
import type { PreparedCommit, Statement } from "./statement.ts"

const recordName = "millrace_commits"
const keptS = 3_600

interface CommitRecord {
  readonly ids: readonly (string | UUID)[]
  /** A text per commit with a digit per write. 1 means a created document. */
  readonly created: readonly string[]
  readonly at: Date
}

export async function prepareRecords(db: Db): Promise<void> {
  await db.command({
    createIndexes: recordName,
    indexes: [
      { key: { ids: 1 }, name: "ids", unique: true },
      { key: { at: 1 }, name: "at", expireAfterSeconds: keptS },
    ],
  })
}

/** Returns the command that records the commits. */
export function recordOf(commits: readonly PreparedCommit[], created: ReadonlySet<Statement>, now: number): Record<string, unknown> {
  const record: CommitRecord = {
    ids: commits.map(({ id }) => storedId(id)),
    created: commits.map(({ statements }) => statements.map((statement) => (created.has(statement) ? "1" : "0")).join("")),
    at: new Date(now),
  }
  return { insert: recordName, documents: [record], ordered: true }
}

/** Returns the results of commits that succeeded earlier, after they reach the majority. */
export async function recorded(db: Db, commits: readonly PreparedCommit[], maxTimeMS: number): Promise<Map<string, CommitResult>> {
  const filter = { ids: { $in: commits.map(({ id }) => storedId(id)) } }
  const records = db.collection<CommitRecord>(recordName)
  // Reads the primary's local view first, because a linearizable read takes 100 ms and is rarely necessary.
  const seen = await records.find(filter, { readConcern: { level: "local" }, maxTimeMS, limit: 1 }).toArray()
  const found = new Map<string, CommitResult>()
  if (seen.length === 0) return found
  for (const record of await records.find(filter, { readConcern: { level: "linearizable" }, maxTimeMS }).toArray()) {
    for (const [index, id] of record.ids.entries()) {
      const made = record.created[index] ?? ""
      found.set(String(id), { created: [...made].map((digit) => digit === "1") })
    }
  }
  return found
}

/** UUIDs as 16 bytes halve the size of the index. */
function storedId(id: string): string | UUID {
  return isUuid(id) ? new UUID(id) : id
}
