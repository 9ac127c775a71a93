// Owner of the data file, the only process that may change it. It has the lock, restarts the writer thread and runs expiry in
// steps. These steps queue behind waiting groups.

import type { CollectionSpec } from "../../contract/collection.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { throwUncaught } from "../../kernel/promises.ts"
import { Checkpoints } from "./checkpoints.ts"
import { isDamage } from "./damage.ts"
import { claimDataFile } from "./data-file.ts"
import type { FileSettings } from "./layout.ts"
import { type FileLock, lockFile } from "./lock.ts"
import type { FileFault, LostCommits, WireOutcome, WriterReply, WriterRequest } from "./wire.ts"
import { WriterThread } from "./writer-thread.ts"

export interface OwnerOptions extends FileSettings {
  readonly clock: Clock
  /** Milliseconds between steps of expiry if no further documents are due. */
  readonly expireEveryMs: number
  /** Called when the writer thread died and restarts. */
  readonly onWriterDeath: (error: Error) => void
  /** Marker files of an earlier store. */
  readonly traces: readonly string[]
  /** Called if the log ends before the last acknowledged commit. */
  readonly onLost: (lost: LostCommits) => void
  /** Called if the file has become unusable. Called with undefined when it is usable again. */
  readonly onFault: (fault: FileFault | undefined) => void
}

export class FileOwner {
  readonly #options: OwnerOptions
  readonly #checkpoints: Checkpoints
  #lock: FileLock | undefined
  #thread: WriterThread | undefined
  #cancelExpiry: (() => void) | undefined

  constructor(options: OwnerOptions) {
    this.#options = options
    this.#checkpoints = new Checkpoints({ file: options.file, finish: () => this.#ask({ kind: "checkpoint" }) })
  }

  /** Locks and opens the file, and creates the missing layout. Throws with all problems. */
  async start(collections: readonly CollectionSpec[]): Promise<void> {
    const { file, maxBytes } = this.#options
    claimDataFile(file, this.#options.traces)
    this.#lock ??= lockFile(file)
    const thread = new WriterThread({ file, maxBytes }, collections, this.#options)
    try {
      await thread.start()
    } catch (error) {
      await thread.stop()
      this.#release()
      throw new Error(`The data file ${file} cannot be opened: ${reasonOf(error)}. ${remedyFor(error)}`, { cause: error })
    }
    this.#thread = thread
    if (collections.some((spec) => spec.expires !== undefined)) this.#expireLater()
  }

  async stop(): Promise<void> {
    this.#cancelExpiry?.()
    await this.#checkpoints.stop()
    await this.#thread?.stop()
    this.#release()
  }

  /**
   * Commits a packed group (packed.ts). Returns an outcome per commit, in order. Throws `unavailable` if the group may be
   * repeated.
   */
  async group(group: string): Promise<readonly WireOutcome[]> {
    const { results = [] } = await this.#ask({ kind: "group", group })
    try {
      this.#checkpoints.wrote(group.length)
    } catch (error) {
      // The group is written, so its commits succeeded.
      throwUncaught(error)
    }
    return results
  }

  /** Resolves if a commit is possible now. */
  async probe(): Promise<void> {
    await this.#ask({ kind: "probe" })
  }

  /** Ends the writer thread like a crash, for tests. */
  async kill(): Promise<void> {
    await this.#thread?.kill()
  }

  async #ask(request: WriterRequest): Promise<WriterReply> {
    if (!this.#thread) throw notOpen()
    return this.#thread.ask(request)
  }

  #release(): void {
    this.#lock?.release()
    this.#lock = undefined
  }

  #expireLater(): void {
    const { clock, expireEveryMs } = this.#options
    this.#cancelExpiry = clock.after(expireEveryMs, () => {
      this.#expire().then(
        () => this.#lock && this.#expireLater(),
        // The disk is full or the store stops. A next round, if any, reports the error again.
        () => this.#lock && this.#expireLater(),
      )
    })
  }

  async #expire(): Promise<void> {
    for (let more = true; more && this.#lock; ) {
      const reply = await this.#ask({ kind: "expire", now: timestamp(this.#options.clock.now()) })
      more = reply.more === true
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function remedyFor(error: unknown): string {
  const { message } = error as Error
  if (!isDamage(error) && !/damaged|cut short|malformed|not a database/.test(message)) return "Nothing was changed."
  return "Restore a backup with `millrace restore FILE`: the present file is kept beside it. Nothing was changed."
}

export function notOpen(): AppError {
  return new AppError("unavailable", "Storage is not open.", { reason: "not_started" }, { retryAfterS: 1 })
}
