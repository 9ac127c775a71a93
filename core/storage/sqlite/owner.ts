// The one process that may change the data file: it holds the lock, keeps the writing thread alive and has it remove what
// expired, in steps that queue behind the groups that came meanwhile.
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import type { CollectionSpec } from "../../contract/collection.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { Checkpoints } from "./checkpoints.ts"
import type { FileSettings } from "./layout.ts"
import { type FileLock, lockFile } from "./lock.ts"
import type { Outcome, WriterReply, WriterRequest } from "./wire.ts"
import { WriterThread } from "./writer-thread.ts"

export interface OwnerOptions extends FileSettings {
  readonly clock: Clock
  /** Pause between steps of expiry when nothing more is due. */
  readonly expireEveryMs: number
  /** Hears when the writing thread died and is started again. */
  readonly onWriterDeath: (error: Error) => void
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
    const { file, maxBytes, onWriterDeath } = this.#options
    mkdirSync(dirname(file), { recursive: true })
    this.#lock ??= lockFile(file)
    const thread = new WriterThread({ file, maxBytes }, collections, onWriterDeath)
    try {
      await thread.start()
    } catch (error) {
      await thread.stop()
      this.#release()
      throw new Error(`The data file ${file} cannot be opened: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
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
  async group(group: string): Promise<readonly Outcome[]> {
    const { results = [] } = await this.#ask({ kind: "group", group })
    this.#checkpoints.wrote(group.length)
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

export function notOpen(): AppError {
  return new AppError("unavailable", "Storage is not open.", { reason: "not_started" }, { retryAfterS: 1 })
}
