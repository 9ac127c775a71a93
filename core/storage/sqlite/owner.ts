// The one process that may change the data file: it holds the lock, keeps the writing thread alive and has it remove what
// expired, in steps that queue behind the groups that came meanwhile.
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import type { CollectionSpec } from "../../contract/collection.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { Checkpoints } from "./checkpoints.ts"
import type { FileSettings } from "./layout.ts"
import { type FileLock, lockFile } from "./lock.ts"
import type { WriterReply, WriterRequest } from "./wire.ts"
import { WriterThread } from "./writer-thread.ts"
import { notOpen, type Outcome, type Writing } from "./writing.ts"

export interface OwnerOptions extends FileSettings {
  readonly clock: Clock
  /** Pause between steps of expiry when nothing more is due. */
  readonly expireEveryMs: number
  /** Hears when the writing thread died and is started again. */
  readonly onWriterDeath: (error: Error) => void
}

export class FileOwner implements Writing {
  readonly #options: OwnerOptions
  readonly #checkpoints: Checkpoints
  #lock: FileLock | undefined
  #thread: WriterThread | undefined
  #cancelExpiry: (() => void) | undefined

  constructor(options: OwnerOptions) {
    this.#options = options
    this.#checkpoints = new Checkpoints({ file: options.file, finish: () => this.ask({ kind: "checkpoint" }) })
  }

  /** Keeps other processes from the file, before anything of it is read. `start` does so too. */
  lock(): void {
    const { file } = this.#options
    mkdirSync(dirname(file), { recursive: true })
    this.#lock ??= lockFile(file)
  }

  async start(collections: readonly CollectionSpec[]): Promise<void> {
    const { file, maxBytes, onWriterDeath } = this.#options
    this.lock()
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

  async group(group: string): Promise<readonly Outcome[]> {
    return (await this.ask({ kind: "group", groups: [group] })).results ?? []
  }

  async probe(): Promise<void> {
    await this.ask({ kind: "probe" })
  }

  async ask(request: WriterRequest): Promise<WriterReply> {
    if (!this.#thread) throw notOpen()
    const reply = await this.#thread.ask(request)
    if (request.kind === "group") for (const group of request.groups) this.#checkpoints.wrote(group.length)
    return reply
  }

  /** For tests: ends the writing thread as a crash would. */
  async kill(): Promise<void> {
    await this.#thread?.kill()
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
      const reply = await this.ask({ kind: "expire", now: timestamp(this.#options.clock.now()) })
      more = reply.more === true
    }
  }
}
