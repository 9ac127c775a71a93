// Carries the write-ahead log over into the file on a thread of its own, while the writer goes on. Where the log has
// grown long, the writer is asked to carry over the little that came meanwhile, so that the log restarts: no commit
// waits for more than that.
import type { LogState } from "./checkpointer.ts"
import { StoreThread } from "./thread.ts"

/** Pages in the log, roughly, after which a step is taken. */
const stepPages = 2_000
/** A group touches about as many pages besides those that its documents fill: of every index the last one. */
const groupPages = 20
const charactersOfPage = 1_500
/** Pages in the log at which it should restart: 64 MB. */
const longLog = 8_192

export interface CheckpointsOptions {
  readonly file: string
  /** Has the writer carry over the rest, between two groups. */
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

  /** To be told of each group that was written. */
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
        // What fails here fails at the next group too, and is told there.
        else this.#options.finish().then(done, done)
      },
      // Without the thread the writer carries all of it over itself, when the log is longer still.
      onDeath: () => {
        done()
        this.#thread = undefined
      },
    })
    thread.unref()
    return thread
  }
}
