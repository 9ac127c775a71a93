// Commits a group, with a result for each commit. A failed group is retried without the suspected commits, then in halves with
// jitter. A commit is refused only for its own failure. Lost connections and elections are retried until the deadline. The record
// of commits shows commits that succeeded earlier.
import type { ClientSession, Db } from "mongodb"
import type { CommitResult } from "../../contract/store.ts"
import { type Clock, sleep } from "../../kernel/clock.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Abandoned } from "./abandoned.ts"
import { type Attempt, attempt, type Seen } from "./attempt.ts"
import type { Batch } from "./batch.ts"
import { recorded } from "./record.ts"
import type { PreparedCommit, Statement } from "./statement.ts"
import { isConflict, isLost, isTimeout, isTooLarge, tooLarge, unavailable } from "./trouble.ts"
import { missedVerdict, verdictOf } from "./verdict.ts"

export type CommitOutcome = CommitResult | AppError

export interface GroupOptions {
  readonly db: Db
  readonly seen: Seen
  readonly abandoned: Pick<Abandoned, "end">
  readonly clock: Clock
  readonly random: () => number
  /** Monotonic time in milliseconds at which retries end. */
  readonly deadline: number
  /** Minimum milliseconds of requests for the outcome of a sent commit, because late is better than wrong. */
  readonly uncertainMs: number
  /** Called for every transaction, for tests and metrics. */
  readonly onAttempt?: ((commits: number, outcome: "committed" | "refused" | "conflict" | "lost") => void) | undefined
}

/** Consecutive failures, about a third of a second, after which a conflict has another cause than a live transaction. */
const stubborn = 6

export class GroupRun {
  readonly outcomes = new Map<string, CommitOutcome>()
  readonly #options: GroupOptions
  /** Inserts of existing documents with `ifPresent: "keep"`. */
  readonly #present = new Set<Statement>()
  #deadline: number

  constructor(options: GroupOptions) {
    this.#options = options
    this.#deadline = options.deadline
  }

  /** Resolves when each commit has its outcome. Throws `unavailable` at the deadline. */
  async settle(group: readonly PreparedCommit[], failures = 0): Promise<void> {
    const open = group.filter(({ id }) => !this.outcomes.has(id))
    if (open.length === 0) return
    const outcome = await this.#try(open, failures)
    if (outcome === "conflict") return this.#again(open, failures)
    if (outcome === "lost") {
      await this.#recall(open)
      this.#deadline = this.#options.deadline
      return this.settle(open, failures)
    }
    if (outcome.ok) return this.#committed(open, outcome.created)
    const [only] = open
    if (open.length === 1 && only) return this.#judge(only, outcome, failures)
    await this.#single(open, outcome, failures)
  }

  /** Tries a transaction. Returns "conflict" or "lost" if the whole transaction failed. */
  async #try(open: readonly PreparedCommit[], failures: number): Promise<Attempt | "conflict" | "lost"> {
    const { db, seen, clock, onAttempt } = this.#options
    this.#checkDeadline()
    const stepwise = open.length === 1 && failures > 0
    const finish = (session: ClientSession) => this.#finish(session)
    try {
      const outcome = await attempt(open, { db, seen, skip: this.#present, stepwise, finish, now: () => clock.now() })
      onAttempt?.(open.length, outcome.ok ? "committed" : "refused")
      return outcome
    } catch (error) {
      if (error instanceof AppError) throw error
      if (isLost(error) || isTimeout(error)) {
        onAttempt?.(open.length, "lost")
        await this.#pause(100, error)
        return "lost"
      }
      if (isConflict(error)) {
        onAttempt?.(open.length, "conflict")
        await this.#afterConflict(failures, error)
        return "conflict"
      }
      if (open.length > 1) return "conflict"
      const [only] = open
      if (only) this.outcomes.set(only.id, isTooLarge(error) ? tooLarge(only.statements[0]?.collection ?? "commit") : asAppError(error))
      return "conflict"
    }
  }

  async #afterConflict(failures: number, error: unknown): Promise<void> {
    if (failures >= stubborn) await this.#options.abandoned.end()
    await this.#pause(backoffMs(failures), error)
  }

  /** Retries the whole group once, then in halves. */
  async #again(open: readonly PreparedCommit[], failures: number): Promise<void> {
    if (open.length === 1 || failures === 0) return this.settle(open, failures + 1)
    const middle = Math.ceil(open.length / 2)
    await this.settle(open.slice(0, middle), failures + 1)
    await this.settle(open.slice(middle), failures + 1)
  }

  #committed(commits: readonly PreparedCommit[], created: ReadonlySet<Statement>): void {
    for (const { id, statements } of commits) {
      this.outcomes.set(id, { created: statements.map((statement) => created.has(statement)) })
    }
  }

  /** Handles a refused group of several commits. The suspects run alone after the others. */
  async #single(open: readonly PreparedCommit[], outcome: Attempt & { ok: false }, failures: number): Promise<void> {
    const isDuplicate = "trouble" in outcome && outcome.trouble.code === 11000
    const known = this.outcomes.size + this.#present.size
    if (isDuplicate) await this.#recall(open)
    const suspects =
      "missed" in outcome ? await this.#unmatched(outcome.missed) : await this.#culprits(open, outcome.item?.commit, isDuplicate)
    const rest = open.filter((commit) => !suspects.has(commit))
    const learned = this.outcomes.size + this.#present.size > known
    if (suspects.size === 0) await (learned ? this.settle(rest, failures) : this.#again(rest, Math.max(failures, 1)))
    else await (failures === 0 ? this.settle(rest, 1) : this.#again(rest, failures))
    for (const suspect of suspects) await this.settle([suspect], failures + 1)
  }

  /**
   * Returns the commit named by the server, and commits with inserts of existing ids. Inserts with "keep" are noted as present
   * instead.
   */
  async #culprits(open: readonly PreparedCommit[], named: PreparedCommit | undefined, isDuplicate: boolean): Promise<Set<PreparedCommit>> {
    const culprits = new Set<PreparedCommit>()
    let noted = 0
    if (isDuplicate) {
      for (const [statement, commit] of await this.#takenIds(open)) {
        if (statement.write.kind === "insert" && statement.write.ifPresent === "keep") {
          this.#present.add(statement)
          noted++
        } else culprits.add(commit)
      }
    }
    if (named && noted === 0 && !this.outcomes.has(named.id)) culprits.add(named)
    return culprits
  }

  async #takenIds(open: readonly PreparedCommit[]): Promise<Map<Statement, PreparedCommit>> {
    const inserts = new Map<string, Map<string, [Statement, PreparedCommit][]>>()
    for (const commit of open) {
      for (const statement of commit.statements) {
        if (statement.kind !== "insert" || this.#present.has(statement)) continue
        const byKey = inserts.get(statement.collection) ?? new Map<string, [Statement, PreparedCommit][]>()
        inserts.set(statement.collection, byKey)
        byKey.set(statement.key, [...(byKey.get(statement.key) ?? []), [statement, commit]])
      }
    }
    const taken = new Map<Statement, PreparedCommit>()
    for (const [name, byKey] of inserts) {
      for (const key of await this.#storedKeys(name, { _id: { $in: [...byKey.keys()] } })) {
        for (const [statement, commit] of byKey.get(key) ?? []) taken.set(statement, commit)
      }
    }
    return taken
  }

  /** Returns the commits of the batch whose conditions match no stored document. */
  async #unmatched(batch: Batch): Promise<Set<PreparedCommit>> {
    const conditions = batch.items.map(({ statement }) => statement.body["q"] as Record<string, unknown>)
    const stored = new Set(await this.#storedKeys(batch.collection, { $or: conditions }))
    return new Set(batch.items.filter(({ statement }) => !stored.has(statement.key)).map(({ commit }) => commit))
  }

  async #storedKeys(name: string, filter: Record<string, unknown>): Promise<string[]> {
    const collection = this.#options.db.collection<{ _id: string }>(name)
    try {
      const found = await collection.find(filter, { projection: { _id: 1 }, readConcern: { level: "local" }, maxTimeMS: 5_000 }).toArray()
      return found.map((document) => document._id)
    } catch (error) {
      // This is only a hint. Without it the group is halved.
      if (isLost(error) || isTimeout(error)) return []
      throw error
    }
  }

  /** Handles a commit that failed alone. */
  async #judge(commit: PreparedCommit, outcome: Attempt & { ok: false }, failures: number): Promise<void> {
    if ("trouble" in outcome && outcome.trouble.code === 11000) {
      await this.#recall([commit])
      if (this.outcomes.has(commit.id)) return
    }
    if (failures === 0) return this.settle([commit], 1)
    if ("missed" in outcome) {
      this.outcomes.set(commit.id, missedVerdict(outcome.missed, outcome.stored))
      return
    }
    const statement = outcome.item?.statement
    const verdict = statement ? verdictOf(statement, outcome.trouble) : "again"
    if (verdict instanceof AppError) {
      this.outcomes.set(commit.id, verdict)
      return
    }
    if (verdict === "present" && statement) this.#present.add(statement)
    else await this.#pause(backoffMs(failures), outcome)
    await this.settle([commit], failures + 1)
  }

  /** Reads the results of commits that succeeded in an earlier try. */
  async #recall(open: readonly PreparedCommit[]): Promise<void> {
    for (;;) {
      try {
        for (const [id, result] of await recorded(this.#options.db, open, 5_000)) this.outcomes.set(id, result)
        return
      } catch (error) {
        if (!isLost(error) && !isTimeout(error)) throw error
        await this.#pause(100, error)
      }
    }
  }

  /** Repeats the request for the outcome of a transaction's commit until it is known. */
  async #finish(session: ClientSession): Promise<void> {
    const { clock, uncertainMs } = this.#options
    for (;;) {
      try {
        return await session.commitTransaction()
      } catch (error) {
        if (isConflict(error) || !(isLost(error) || isTimeout(error))) throw error
        if (this.#deadline === this.#options.deadline) this.#deadline = Math.max(this.#deadline, clock.monotonic() + uncertainMs)
        await this.#pause(50, error)
      }
    }
  }

  #checkDeadline(cause?: unknown): void {
    if (this.#options.clock.monotonic() >= this.#deadline) throw unavailable("MongoDB cannot commit now.", cause)
  }

  /** Sleeps for 50 to 100 percent of the time, so conflicting nodes do not meet again. */
  async #pause(milliseconds: number, cause: unknown): Promise<void> {
    this.#checkDeadline(cause)
    await sleep(this.#options.clock, milliseconds * (0.5 + this.#options.random() / 2))
  }
}

function backoffMs(failures: number): number {
  return Math.min(5 * 2 ** failures, 200)
}
