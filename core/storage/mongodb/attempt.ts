// One try of a group of commits: one transaction, durable on a majority when it went through. Says who is to blame
// where the server says so; changes nothing otherwise.
import type { ClientSession, Db, MongoClient, Timestamp } from "mongodb"
import { type Batch, type BatchItem, commandOf, gather, oneByOne, restOf } from "./batch.ts"
import { recordOf } from "./record.ts"
import type { PreparedCommit, Statement } from "./statement.ts"
import type { WriteTrouble } from "./trouble.ts"

export type Attempt =
  | { readonly ok: true; readonly created: ReadonlySet<Statement> }
  /** A command was refused; `item` is the statement that did it, unknown where it was the record of the commits. */
  | { readonly ok: false; readonly item: BatchItem | undefined; readonly trouble: WriteTrouble }
  /** Fewer documents were affected than there were statements. */
  | { readonly ok: false; readonly missed: Batch; readonly stored: readonly Record<string, unknown>[] }

export interface AttemptOptions {
  readonly db: Db
  readonly seen: Seen
  /** Inserts known to be there already. */
  readonly skip: ReadonlySet<Statement>
  /** Statement by statement in the order given, so that the first to fail is known; of a single commit. */
  readonly stepwise: boolean
  /** Sends the commit until its outcome is known; throws when it cannot be. */
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

/** Throws what the driver throws: lost connections and conflicts. */
export async function attempt(commits: readonly PreparedCommit[], options: AttemptOptions): Promise<Attempt> {
  const session = options.seen.session("commit")
  try {
    session.startTransaction({ readConcern: { level: "local" }, readPreference: "primary", writeConcern: { w: "majority", journal: true } })
    const outcome = await run(commits, session, options)
    if (outcome.ok) await options.finish(session)
    else await session.abortTransaction()
    // What refused it may be on its way to a majority: who reads again is to read that.
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

/** undefined where it went through; adds to `created`. */
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

/** The documents that a batch was to change, as the transaction saw them. */
async function storedTargets(db: Db, batch: Batch, session: ClientSession): Promise<Record<string, unknown>[]> {
  const keys = batch.items.map(({ statement }) => statement.key)
  const collection = db.collection<Record<string, unknown> & { _id: string }>(batch.collection)
  return collection.find({ _id: { $in: keys } }, { session, projection: { revision: 1 } }).toArray()
}

/**
 * The latest operation time of the replica set that this node has seen. Right after an election the new primary holds
 * every majority-committed write, but its commit point may lag, so that a majority read returns older data. A read
 * therefore carries the time seen, and the primary waits until its commit point has reached it. The same is so for the
 * write of another node that has refused one of this node.
 */
export class Seen {
  readonly #client: MongoClient
  #latest: Timestamp | undefined

  constructor(client: MongoClient) {
    this.#client = client
  }

  /** A session for a commit or a read; the read's answer is not older than what was seen. To be ended. */
  session(use: "commit" | "read"): ClientSession {
    const session = this.#client.startSession({ causalConsistency: true })
    if (use === "read" && this.#latest) session.advanceOperationTime(this.#latest)
    return session
  }

  /** To be called once a majority has what the session did, or where it did nothing. */
  note({ operationTime }: ClientSession): void {
    if (operationTime && (!this.#latest || operationTime.greaterThan(this.#latest))) this.#latest = operationTime
  }
}
