// The embedded driver: one SQLite file that this process alone holds, a thread that writes it, threads that read it.
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import type { CollectionSpec, Document } from "../../contract/collection.ts"
import type { Commit, CommitResult } from "../../contract/store.ts"
import { type Clock, systemClock, timestamp } from "../../kernel/clock.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { DriverQuery, StorageDriver } from "../driver.ts"
import { type FileLock, lockFile } from "./lock.ts"
import { toWire } from "./query.ts"
import { ReaderPool } from "./reader-pool.ts"
import { type EncodedCommit, Staging } from "./staging.ts"
import type { CommitCells, WireError } from "./wire.ts"
import { WriterThread } from "./writer-thread.ts"

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
}

export interface SqliteDriver extends StorageDriver {
  /** Ends the writing thread as a crash would; for tests of what then happens. */
  killWriter(): Promise<void>
}

export function createSqliteDriver(options: SqliteOptions): SqliteDriver {
  return new Driver(options)
}

class Driver implements SqliteDriver {
  // One writer writes one group at a time; a second in flight would only make both smaller.
  readonly groupsInFlight = 1
  readonly #options: SqliteOptions
  readonly #clock: Clock
  #staging: Staging | undefined
  #lock: FileLock | undefined
  #writer: WriterThread | undefined
  #readers: ReaderPool | undefined
  #cancelExpiry: (() => void) | undefined

  constructor(options: SqliteOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  async start(collections: readonly CollectionSpec[]): Promise<void> {
    const { file, maxBytes, readers = 2, onWriterDeath } = this.#options
    mkdirSync(dirname(file), { recursive: true })
    this.#lock = lockFile(file)
    const writer = new WriterThread({ file, maxBytes }, collections, onWriterDeath ?? (() => undefined))
    try {
      await writer.start()
    } catch (error) {
      await writer.stop()
      this.#lock.release()
      this.#lock = undefined
      throw new Error(`The data file ${file} cannot be opened: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
    this.#writer = writer
    this.#staging = new Staging(collections)
    this.#readers = new ReaderPool(file, readers)
    if (collections.some((spec) => spec.expires !== undefined)) this.#expireLater()
  }

  async stop(): Promise<void> {
    this.#cancelExpiry?.()
    await this.#readers?.stop()
    await this.#writer?.stop()
    this.#lock?.release()
    this.#lock = undefined
  }

  async find(query: DriverQuery): Promise<Document[]> {
    return (await this.#reading().ask(toWire(query, deadlineIn(query.deadlineMs)))) as unknown as Document[]
  }

  async count(query: Omit<DriverQuery, "sort" | "after">): Promise<number> {
    return Number(await this.#reading().ask(toWire(query, deadlineIn(query.deadlineMs))))
  }

  stage(commit: Commit): EncodedCommit {
    if (this.#staging) return this.#staging.encode(commit)
    throw notOpen()
  }

  async commitGroup(commits: readonly Commit[]): Promise<readonly (CommitResult | AppError)[]> {
    const refused = new Map<number, AppError>()
    // Filled by push: a list with room for holes is copied between threads one property at a time.
    const cells: CommitCells[] = []
    for (const [index, commit] of commits.entries()) {
      try {
        cells.push((isEncoded(commit) ? commit : this.stage(commit)).cells)
      } catch (error) {
        refused.set(index, asAppError(error))
      }
    }
    const reply = cells.length === 0 ? undefined : await this.#writing().ask({ kind: "group", commits: cells })
    const results = (reply?.results ?? []).map(toResult)
    // Refused ones take their places again, first to last.
    for (const [index, error] of refused) results.splice(index, 0, error)
    return results
  }

  async ready(): Promise<void> {
    await this.#writing().ask({ kind: "probe" })
  }

  async killWriter(): Promise<void> {
    await this.#writing().kill()
  }

  #expireLater(): void {
    this.#cancelExpiry = this.#clock.after(this.#options.expireEveryMs ?? 1_000, () => {
      this.#expire().then(
        () => this.#expireLater(),
        // A full disk or a stop: the next round says so again, or there is none.
        () => this.#writer && this.#lock && this.#expireLater(),
      )
    })
  }

  async #expire(): Promise<void> {
    // Each step queues behind the groups that came meanwhile.
    for (let more = true; more && this.#lock; ) {
      const reply = await this.#writing().ask({ kind: "expire", now: timestamp(this.#clock.now()) })
      more = reply.more === true
    }
  }

  #writing(): WriterThread {
    if (this.#writer) return this.#writer
    throw notOpen()
  }

  #reading(): ReaderPool {
    if (this.#readers) return this.#readers
    throw notOpen()
  }
}

function isEncoded(commit: Commit | EncodedCommit): commit is EncodedCommit {
  return "cells" in commit
}

function notOpen(): AppError {
  return new AppError("unavailable", "Storage is not open.", { reason: "not_started" }, { retryAfterS: 1 })
}

function toResult(outcome: string | WireError): CommitResult | AppError {
  if (typeof outcome !== "string") return new AppError(outcome.code, outcome.message, outcome.details)
  const created: boolean[] = []
  for (let index = 0; index < outcome.length; index++) created.push(outcome.charCodeAt(index) === 49)
  return { created }
}

function deadlineIn(milliseconds: number): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6 + milliseconds
}
