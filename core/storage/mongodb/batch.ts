// Gathers statements of many commits into few commands. Statements on the same document keep their order. Statements on different
// documents may change places. Then a unique index may refuse a valid order, and the commit is tried alone, statement by
// statement.
import type { PreparedCommit, Statement } from "./statement.ts"

export interface Batch {
  readonly collection: string
  readonly kind: Statement["kind"]
  /**
   * True if each statement must affect a document. Counted statements have their own batches, because the server reports only the
   * sum.
   */
  readonly counted: boolean
  readonly items: BatchItem[]
  size: number
}

export interface BatchItem {
  readonly commit: PreparedCommit
  readonly statement: Statement
}

/** Maximum bytes of a command, well below the server's limit of 48 MB per message. */
const maxBytes = 12_000_000

export function gather(commits: readonly PreparedCommit[], skip: ReadonlySet<Statement>): Batch[] {
  const batches = new Map<string, Batch[]>()
  const lastOf = new Map<string, number>()
  for (const commit of commits) {
    for (const statement of commit.statements) {
      if (skip.has(statement)) continue
      const own = batches.get(statement.collection) ?? []
      batches.set(statement.collection, own)
      const document = `${statement.collection}\0${statement.key}`
      const at = place(own, statement, lastOf.get(document) ?? 0)
      lastOf.set(document, at)
      own[at]?.items.push({ commit, statement })
    }
  }
  return [...batches.values()].flat()
}

/** Returns the position of the first suitable batch from `from` on. Adds a new batch at the end if necessary. */
function place(batches: Batch[], statement: Statement, from: number): number {
  const { kind, counted, collection, size } = statement
  let at = batches.findIndex((b, index) => index >= from && b.kind === kind && b.counted === counted && b.size + size <= maxBytes)
  if (at === -1) at = batches.push({ collection, kind, counted, items: [], size: 0 }) - 1
  const batch = batches[at]
  if (batch) batch.size += size
  return at
}

/** Creates a batch per statement, in the order of the commit. */
export function oneByOne(commit: PreparedCommit, skip: ReadonlySet<Statement>): Batch[] {
  return commit.statements
    .filter((statement) => !skip.has(statement))
    .map((statement) => {
      const { collection, kind, counted, size } = statement
      return { collection, kind, counted, size, items: [{ commit, statement }] }
    })
}

/** Returns the command of a batch. It stops at the first failure. */
export function commandOf({ kind, collection, items }: Batch): Record<string, unknown> {
  const bodies = items.map((item) => item.statement.body)
  if (kind === "insert") return { insert: collection, documents: bodies, ordered: true }
  if (kind === "remove") return { delete: collection, deletes: bodies, ordered: true }
  return { update: collection, updates: bodies, ordered: true }
}

/**
 * Returns the second batch of a batch of merges: the merge updates for documents that already existed. Returns undefined if there
 * are none.
 */
export function restOf({ collection, kind, counted, items, size }: Batch, created: ReadonlySet<Statement>): Batch | undefined {
  const rest = kind === "merge" ? items.filter(({ statement }) => !created.has(statement)) : []
  return rest.length > 0 ? { collection, kind: "update", counted, items: rest.map(merging), size } : undefined
}

function merging({ commit, statement }: BatchItem): BatchItem {
  return { commit, statement: { ...statement, kind: "update", body: statement.merge?.() ?? statement.body } }
}
