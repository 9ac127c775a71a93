// The embedded driver: an SQLite file with a single writer process, and reader threads in this process.
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
  /** Path of the data file. The folder is created. Files beside it: `-wal`, `-shm`, `.lock` and `-commits`. */
  readonly file: string
  /** Default: the system's clock. */
  readonly clock?: Clock
  /** Reader threads for queries, in addition to the thread for look-ups by id. Default 2. */
  readonly readers?: number
  /** Maximum file size. At this size commits are refused with `unavailable`. Default unlimited. */
  readonly maxBytes?: number
  /** Milliseconds between steps of expiry if no further documents are due. Default 1,000. */
  readonly expireEveryMs?: number
  /** Called when the writer thread died and restarts. */
  readonly onWriterDeath?: (error: Error) => void
  /** Marker files of an earlier store. If any exists without the data file, the start fails instead of creating an empty store. */
  readonly traces?: readonly string[]
  /** Called at start if the log ends before the last acknowledged commit. */
  readonly onLost?: (lost: LostCommits) => void
  /** Called once if the file is damaged or gone. All writes stop from then on. Called with undefined when the file is back. */
  readonly onFault?: (fault: FileFault | undefined) => void
  /** Called if documents were omitted from an answer or refused, because their text is not JSON. */
  readonly onUnreadable?: (collection: string) => void
}

export interface SqliteDriver extends StorageDriver {
  /** Ends the writer thread like a crash, for tests. */
  killWriter(): Promise<void>
}

export function createSqliteDriver(options: SqliteOptions): SqliteDriver {
  return new Driver(options)
}

class Driver implements SqliteDriver {
  // A writer writes a group at a time. The second group waits in the writer's queue, so the writer need not wait for this thread.
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
    // The last connection to close would checkpoint the log, and a damaged file must not be changed.
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
    // Inserts the refused commits at their positions, in ascending order.
    for (const [index, error] of refused) results.splice(index, 0, error)
    return results
  }

  async ready(): Promise<void> {
    if (this.#fault?.reason === "storage_corrupt") throw faulty(this.#fault)
    // Concurrent calls share a probe, because each probe is a flush.
    this.#probe ??= this.#owner.probe().finally(() => {
      this.#probe = undefined
    })
    await this.#probe
  }

  async killWriter(): Promise<void> {
    await this.#owner.kill()
  }

  /** Damage is permanent. A moved file may come back. */
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
