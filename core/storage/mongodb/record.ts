// The record of commits that went through: their ids and what they made, one document a group, kept for an hour. It is
// written by the commits' own transaction, so a commit repeated after an unknown outcome meets itself in its unique
// index and is answered as it was.
import { type Db, UUID } from "mongodb"
import type { CommitResult } from "../../contract/store.ts"
import { isUuid } from "../../kernel/ids.ts"
import type { PreparedCommit, Statement } from "./statement.ts"

const recordName = "millrace_commits"
const keptS = 3_600

interface CommitRecord {
  readonly ids: readonly (string | UUID)[]
  /** For each commit a digit for each write: 1 made a document. */
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

/** The command that records the commits. */
export function recordOf(commits: readonly PreparedCommit[], created: ReadonlySet<Statement>, now: number): Record<string, unknown> {
  const record: CommitRecord = {
    ids: commits.map(({ id }) => storedId(id)),
    created: commits.map(({ statements }) => statements.map((statement) => (created.has(statement) ? "1" : "0")).join("")),
    at: new Date(now),
  }
  return { insert: recordName, documents: [record], ordered: true }
}

/** Those of the commits that went through before, with their results; waits until those have reached the majority. */
export async function recorded(db: Db, commits: readonly PreparedCommit[], maxTimeMS: number): Promise<Map<string, CommitResult>> {
  const filter = { ids: { $in: commits.map(({ id }) => storedId(id)) } }
  const records = db.collection<CommitRecord>(recordName)
  // The primary's own view first: a linearizable read takes 100 ms, and hardly ever is there anything to wait for.
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

/** UUIDs as 16 bytes: half the size of the index. */
function storedId(id: string): string | UUID {
  return isUuid(id) ? new UUID(id) : id
}
