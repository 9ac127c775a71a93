// A try of a group of commits in a single transaction. Success means durable on a majority. After a failure it names the
// responsible statement if the server reports it, and changes no data.
import type { ClientSession, Db, MongoClient, Timestamp } from "mongodb"
import { type Batch, type BatchItem, commandOf, gather, oneByOne, restOf } from "./batch.ts"
import { recordOf } from "./record.ts"
import type { PreparedCommit, Statement } from "./statement.ts"
import type { WriteTrouble } from "./trouble.ts"

export type Attempt =
  | { readonly ok: true; readonly created: ReadonlySet<Statement> }
  /** A command was refused. `item` is the responsible statement, or undefined if the record of the commits was refused. */
  | { readonly ok: false; readonly item: BatchItem | undefined; readonly trouble: WriteTrouble }
  /** The batch affected fewer documents than it has statements. */
  | { readonly ok: false; readonly missed: Batch; readonly stored: readonly Record<string, unknown>[] }

export interface AttemptOptions {
  readonly db: Db
  readonly seen: Seen
  /** Inserts of existing documents. */
  readonly skip: ReadonlySet<Statement>
  /** Runs a single commit statement by statement in order, to find the first failure. */
  readonly stepwise: boolean
  /** Sends the commit until its outcome is known. Throws if the outcome stays unknown. */
  readonly finish: (session: ClientSession) => Promise<void>
  readonly now: () => number
}

interface Reply {
  readonly n?: number
  readonly upserted?: readonly { readonly index: number }[]
  readonly writeErrors?: readonly {
    readonly index: number
    readonly code: number
    readonly errmsg: string
    readonly keyPattern?: Record<string, unknown>
  }[]
}

/** Throws the driver's errors: lost connections and conflicts. */
export async function attempt(commits: readonly PreparedCommit[], options: AttemptOptions): Promise<Attempt> {
  const session = options.seen.session("commit")
  try {
    session.startTransaction({ readConcern: { level: "local" }, readPreference: "primary", writeConcern: { w: "majority", journal: true } })
    const outcome = await run(commits, session, options)
    if (outcome.ok) await options.finish(session)
    else await session.abortTransaction()
    // The write that refused this attempt may not have reached a majority yet. Later reads must include it.
    options.seen.note(session)
    return outcome
  } finally {
    await session.endSession()
  }
}

async function run(
  commits: readonly PreparedCommit[],
  session: ClientSession,
  { db, skip, stepwise, now }: AttemptOptions,
): Promise<Attempt> {
  const [only] = commits
  const batches = stepwise && only ? oneByOne(only, skip) : gather(commits, skip)
  const created = new Set<Statement>()
  for (const batch of batches) {
    const failed = await runBatch(batch, { db, session, created })
    if (failed) return failed
  }
  const record = recordOf(commits, created, now())
  const reply: Reply = await db.command(record, { session })
  const refused = reply.writeErrors?.[0]
  return refused ? { ok: false, item: undefined, trouble: troubleOf(refused) } : { ok: true, created }
}

/** Returns undefined on success, and adds to `created`. */
async function runBatch(
  batch: Batch,
  within: { db: Db; session: ClientSession; created: Set<Statement> },
): Promise<(Attempt & { ok: false }) | undefined> {
  const { db, session, created } = within
  const reply: Reply = await db.command(commandOf(batch), { session })
  const refused = reply.writeErrors?.[0]
  if (refused) return { ok: false, item: batch.items[refused.index], trouble: troubleOf(refused) }
  if (batch.counted && reply.n !== batch.items.length) {
    return { ok: false, missed: batch, stored: await storedTargets(db, batch, session) }
  }
  noteCreated(batch, reply, created)
  const rest = restOf(batch, created)
  return rest && runBatch(rest, within)
}

function troubleOf(error: NonNullable<Reply["writeErrors"]>[number]): WriteTrouble {
  const { code, errmsg: message, keyPattern } = error
  return keyPattern ? { code, message, keyPattern } : { code, message }
}

function noteCreated(batch: Batch, reply: Reply, created: Set<Statement>): void {
  if (batch.kind === "insert") for (const { statement } of batch.items) created.add(statement)
  for (const { index } of reply.upserted ?? []) {
    const item = batch.items[index]
    if (item) created.add(item.statement)
  }
}

/** Returns the target documents of a batch, as the transaction saw them. */
async function storedTargets(db: Db, batch: Batch, session: ClientSession): Promise<Record<string, unknown>[]> {
  const keys = batch.items.map(({ statement }) => statement.key)
  const collection = db.collection<Record<string, unknown> & { _id: string }>(batch.collection)
  return collection.find({ _id: { $in: keys } }, { session, projection: { revision: 1 } }).toArray()
}

/**
 * The latest operation time of the replica set seen by this node. After an election the new primary has every majority-committed
 * write, but its commit point may lag. A majority read could then return older data. Each read therefore includes this time, and
 * the primary waits until its commit point reaches it. The same applies to writes of other nodes that refused a write of this
 * node.
 */
export class Seen {
  readonly #client: MongoClient
  #latest: Timestamp | undefined

  constructor(client: MongoClient) {
    this.#client = client
  }

  /** Returns a session for a commit or a read. A read returns no data older than the seen time. The caller must end the session. */
  session(use: "commit" | "read"): ClientSession {
    const session = this.#client.startSession({ causalConsistency: true })
    if (use === "read" && this.#latest) session.advanceOperationTime(this.#latest)
    return session
  }

  /** Call this after the session's writes reach a majority, or if it made no writes. */
  note({ operationTime }: ClientSession): void {
    if (operationTime && (!this.#latest || operationTime.greaterThan(this.#latest))) this.#latest = operationTime
  }
}
