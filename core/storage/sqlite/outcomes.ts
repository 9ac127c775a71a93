// What became of commits whose answer was lost with the process that owned the file. It remembers in the file itself what
// went through (groups.ts); but a group that it had written to the log when it died, and not yet shown to others, may come
// back to life when the file is next opened. So the answer is read within a write of our own: that write takes the place of
// such a group for good, or is made after it was found; and its flush covers what was found.
import { DatabaseSync } from "node:sqlite"
import type { Outcome } from "./writing.ts"

/** One outcome each. Those that went through are on disk when this returns; the others are not kept, and never will be. To be called when the owner is dead. */
export function outcomesIn(file: string, ids: readonly string[]): Outcome[] {
  const database = new DatabaseSync(file)
  try {
    database.exec("PRAGMA busy_timeout=5000; PRAGMA synchronous=FULL; BEGIN IMMEDIATE")
    const found = remembered(database, new Set(ids))
    database.exec("INSERT INTO _probe(n,at) VALUES(1,1) ON CONFLICT(n) DO UPDATE SET at=at+1; COMMIT")
    return ids.map((id) => found.get(id) ?? notKept)
  } finally {
    database.close()
  }
}

function remembered(database: DatabaseSync, wanted: ReadonlySet<string>): Map<string, string> {
  const found = new Map<string, string>()
  for (const { results } of database.prepare("SELECT results FROM _groups ORDER BY n DESC").iterate()) {
    const list = JSON.parse(String(results)) as string[]
    for (let at = 0; at + 1 < list.length; at += 2) if (wanted.has(list[at] ?? "")) found.set(list[at] ?? "", list[at + 1] ?? "")
    if (found.size === wanted.size) break
  }
  return found
}

const notKept = {
  code: "unavailable",
  message: "The process that stores went away before this was kept; try again in a moment.",
  details: { reason: "parent_away" },
} as const
