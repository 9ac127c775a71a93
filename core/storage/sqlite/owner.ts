// The one process that may change the data file: it holds the lock, keeps the writing thread alive and has it remove what
// expired, in steps that queue behind the groups that came meanwhile.

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
  /** Pause between steps of expiry when nothing more is due. */
  readonly expireEveryMs: number
  /** Hears when the writing thread died and is started again. */
  readonly onWriterDeath: (error: Error) => void
  /** Files whose presence tells that there was a store before. */
  readonly traces: readonly string[]
  /** Hears that the log ended before the last commit that it once held. */
  readonly onLost: (lost: LostCommits) => void
  /** Hears that the file can no longer be used as it is; undefined when it can again. */
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

  /** Locks and opens the file and lays out what is missing. Throws with every problem it found. */
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

  /** Commits a packed group (packed.ts); one outcome each, in order. Throws `unavailable` when the group may be repeated. */
  async group(group: string): Promise<readonly WireOutcome[]> {
    const { results = [] } = await this.#ask({ kind: "group", group })
    try {
      this.#checkpoints.wrote(group.length)
    } catch (error) {
      // The group is written: its commits succeeded.
      throwUncaught(error)
    }
    return results
  }

  /** Resolves when a commit could be made now. */
  async probe(): Promise<void> {
    await this.#ask({ kind: "probe" })
  }

  /** For tests: ends the writing thread as a crash would. */
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
        // A full disk or a stop: the next round says so again, or there is none.
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
