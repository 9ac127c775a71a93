// The embedded driver: one SQLite file with one process that writes it, and threads here that read it.
import type { CollectionSpec, Document } from "../../contract/collection.ts"
import type { Commit, CommitResult } from "../../contract/store.ts"
import { type Clock, systemClock } from "../../kernel/clock.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { DriverQuery, StorageDriver } from "../driver.ts"
import { FileOwner, notOpen } from "./owner.ts"
import { packed } from "./packed.ts"
import { toLookUp, toWire } from "./query.ts"
import { ReaderPool } from "./reader-pool.ts"
import { tableOf } from "./schema.ts"
import { shapeOf } from "./shape.ts"
import { type EncodedCommit, Staging } from "./staging.ts"
import type { FileFault, LostCommits, WireOutcome } from "./wire.ts"
import { faulty } from "./writer-thread.ts"

export interface SqliteOptions {
  /** Path of the data file; its folder is made. Beside it lie `-wal`, `-shm` and `.lock`. */
  readonly file: string
  /** Default: the system's. */
  readonly clock?: Clock
  /** Threads for queries, besides the one for look-ups by id; default 2. */
  readonly readers?: number
  /** Size at which the file stops growing and commits are refused as `unavailable`; default none. */
  readonly maxBytes?: number
  /** Pause between steps of expiry when nothing more is due; default 1,000. */
  readonly expireEveryMs?: number
  /** Hears when the writing thread died and is started again. */
  readonly onWriterDeath?: (error: Error) => void
  /** Files whose presence tells that there was a store before, so that none is made in place of one that is gone. */
  readonly traces?: readonly string[]
  /** Hears at start that the log ended before the last commit that it once held. */
  readonly onLost?: (lost: LostCommits) => void
  /** Hears that the file is damaged or gone, once; nothing is written from then on. undefined: it is back. */
  readonly onFault?: (fault: FileFault | undefined) => void
  /** Hears that documents of a collection were left out of an answer, or refused, since their text is not JSON. */
  readonly onUnreadable?: (collection: string) => void
}

export interface SqliteDriver extends StorageDriver {
  /** Ends the writing thread as a crash would; for tests of what then happens. */
  killWriter(): Promise<void>
}

export function createSqliteDriver(options: SqliteOptions): SqliteDriver {
  return new Driver(options)
}

class Driver implements SqliteDriver {
  // One writer writes one group at a time; the second waits in its queue, so that it need not wait for this thread.
  readonly groupsInFlight = 2
  readonly keepsOrder = true
  readonly #options: SqliteOptions
  readonly #owner: FileOwner
  #staging: Staging | undefined
  #fault: FileFault | undefined
  #readers: ReaderPool | undefined
  #probe: Promise<void> | undefined

  constructor(options: SqliteOptions) {
    const { file, maxBytes, clock = systemClock, expireEveryMs = 1_000, traces = [], onWriterDeath = ignore, onLost = ignore } = options
    this.#options = options
    const onFault = (fault: FileFault | undefined) => this.#noticed(fault)
    this.#owner = new FileOwner({ file, maxBytes, clock, expireEveryMs, traces, onWriterDeath, onLost, onFault })
  }

  async start(collections: readonly CollectionSpec[]): Promise<void> {
    await this.#owner.start(collections)
    this.#staging = new Staging(collections)
    const shapes = Object.fromEntries(collections.map((spec) => [tableOf(spec), shapeOf(spec)]))
    this.#readers = new ReaderPool({ file: this.#options.file, shapes }, this.#options.readers ?? 2, {
      onFault: (fault) => this.#noticed(fault),
      onUnreadable: (table) => this.#options.onUnreadable?.(table.replaceAll('"', "")),
    })
  }

  async stop(): Promise<void> {
    // The last connection to close would carry the log over, which is not to be done to a damaged file.
    if (this.#fault) await this.#owner.stop()
    await this.#readers?.stop()
    if (!this.#fault) await this.#owner.stop()
  }

  async find(query: DriverQuery): Promise<Document[]> {
    return (await this.#reading().ask(toLookUp(query) ?? toWire(query, deadlineIn(query.deadlineMs)))) as unknown as Document[]
  }

  async count(query: Omit<DriverQuery, "sort" | "after">): Promise<number> {
    return Number(await this.#reading().ask(toWire(query, deadlineIn(query.deadlineMs))))
  }

  async organizationsIn(collection: CollectionSpec): Promise<readonly string[]> {
    return (await this.#reading().ask({ organizationsIn: tableOf(collection) })) as readonly string[]
  }

  stage(commit: Commit): EncodedCommit {
    if (this.#staging) return this.#staging.encode(commit)
    throw notOpen()
  }

  async commitGroup(commits: readonly Commit[]): Promise<readonly (CommitResult | AppError)[]> {
    if (this.#fault?.reason === "storage_corrupt") throw faulty(this.#fault)
    const refused = new Map<number, AppError>()
    const cells: EncodedCommit["cells"][] = []
    for (const [index, commit] of commits.entries()) {
      try {
        cells.push((isEncoded(commit) ? commit : this.stage(commit)).cells)
      } catch (error) {
        refused.set(index, asAppError(error))
      }
    }
    const outcomes = cells.length === 0 ? [] : await this.#owner.group(packed(cells))
    const results = outcomes.map(toResult)
    // Refused ones take their places again, first to last.
    for (const [index, error] of refused) results.splice(index, 0, error)
    return results
  }

  async ready(): Promise<void> {
    if (this.#fault?.reason === "storage_corrupt") throw faulty(this.#fault)
    // However many ask at once, one probe is enough: each is a flush.
    this.#probe ??= this.#owner.probe().finally(() => {
      this.#probe = undefined
    })
    await this.#probe
  }

  async killWriter(): Promise<void> {
    await this.#owner.kill()
  }

  /** Damage stays; a file that was moved may come back. */
  #noticed(fault: FileFault | undefined): void {
    if (fault?.reason === this.#fault?.reason || this.#fault?.reason === "storage_corrupt") return
    this.#fault = fault
    this.#options.onFault?.(fault)
  }

  #reading(): ReaderPool {
    if (this.#readers) return this.#readers
    throw notOpen()
  }
}

const ignore = () => undefined

function isEncoded(commit: Commit | EncodedCommit): commit is EncodedCommit {
  return "cells" in commit
}

function toResult(outcome: WireOutcome): CommitResult | AppError {
  if (typeof outcome !== "string") {
    const retry = outcome.code === "unavailable" ? { retryAfterS: 1 } : {}
    return AppError.from(outcome, retry)
  }
  const created: boolean[] = []
  for (let index = 0; index < outcome.length; index++) created.push(outcome.charCodeAt(index) === 49)
  return { created }
}

function deadlineIn(milliseconds: number): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6 + milliseconds
}
