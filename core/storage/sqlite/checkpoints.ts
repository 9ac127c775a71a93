// Checkpoints the write-ahead log into the file on a separate thread, while the writer continues. If the log is long, the writer
// itself checkpoints the small rest, so the log can restart. Commits wait only for that rest.
import type { LogState } from "./checkpointer.ts"
import { StoreThread } from "./thread.ts"

/** Approximate pages in the log before a step. */
const stepPages = 2_000
/** Approximate additional pages of a group besides its documents: the last page of every index. */
const groupPages = 20
const charactersOfPage = 1_500
/** Pages in the log before a restart of the log, about 64 MB. */
const longLog = 8_192

export interface CheckpointsOptions {
  readonly file: string
  /** Lets the writer checkpoint the rest, between two groups. */
  readonly finish: () => Promise<unknown>
}

export class Checkpoints {
  readonly #options: CheckpointsOptions
  #thread: StoreThread<"step", LogState> | undefined
  #pages = 0
  #inFlight = false

  constructor(options: CheckpointsOptions) {
    this.#options = options
  }

  /** Call this for each written group. */
  wrote(characters: number): void {
    this.#pages += groupPages + characters / charactersOfPage
    if (this.#pages < stepPages || this.#inFlight) return
    this.#pages = 0
    this.#inFlight = true
    this.#thread ??= this.#start()
    this.#thread.ask("step")
  }

  async stop(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await thread?.close()
  }

  #start(): StoreThread<"step", LogState> {
    const done = () => {
      this.#inFlight = false
    }
    const thread = new StoreThread<"step", LogState>(new URL("./checkpointer.ts", import.meta.url), {
      name: "millrace-checkpoints",
      data: this.#options.file,
      onReply: ({ pages }) => {
        if (pages < longLog) done()
        // A failure here repeats at the next group and is reported there.
        else this.#options.finish().then(done, done)
      },
      // Without the thread, the writer checkpoints the whole log itself at a larger size.
      onDeath: () => {
        done()
        this.#thread = undefined
      },
    })
    thread.unref()
    return thread
  }
}
