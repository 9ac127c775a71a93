// The process that seals page events. A task fails if the process ends; the caller retries from the committed state.
import { ConfinedChild, OnDemand } from "#core/engine"

/** Tasks of the sealing process. All paths are absolute. Results describe the file at `out`. */
export type SegmentTask =
  /** Converts JSON lines in `rows` to a segment. */
  | { readonly kind: "write"; readonly rows: string; readonly out: string }
  /** Merges segments into one, without some rows. Writes no file if no row remains. */
  | { readonly kind: "merge"; readonly files: readonly string[]; readonly without: readonly string[]; readonly out: string }
  /** Returns ids and versions of rows received since this time. */
  | { readonly kind: "recent"; readonly files: readonly string[]; readonly since: string }
  /** Returns the files that contain one of the rows. */
  | { readonly kind: "holding"; readonly files: readonly string[]; readonly rowIds: readonly string[] }

export interface WrittenSegment {
  readonly rows: number
  readonly bytes: number
  /** RFC 3339. */
  readonly first_at: string
  readonly last_at: string
}

export interface SegmentResults {
  write: WrittenSegment
  merge: WrittenSegment | null
  recent: [rowId: string, version: string][]
  holding: string[]
}

export interface SegmentRequest {
  readonly id: number
  readonly task: SegmentTask
}

export type SegmentReply =
  | { readonly id: number; readonly result: SegmentResults[keyof SegmentResults]; readonly residentBytes: number }
  | { readonly id: number; readonly failed: string }

const memoryMb = 512
/** The engine's allocator retains pages between tasks, so the process grows with each task. */
const maxTasks = 1_000
const maxIdleBytes = 320 << 20

export interface SegmentEngineOptions {
  /** Folder of compiled code. It halves the time of a start. */
  readonly codeCache?: string
  /** Number of tasks before the process is replaced. */
  readonly maxTasks?: number
  /** Resident memory that causes a replacement of the process after a task. */
  readonly maxIdleBytes?: number
}

export class SegmentEngine {
  readonly #options: SegmentEngineOptions
  readonly #children = new OnDemand(() => this.#start())
  /** Tasks of the current process. */
  #answered = 0

  constructor(options: SegmentEngineOptions = {}) {
    this.#options = options
  }

  run<K extends SegmentTask["kind"]>(task: Extract<SegmentTask, { kind: K }>): Promise<SegmentResults[K]> {
    return this.#children.use(async (child) => {
      const reply = await child.ask<SegmentReply>({ task })
      const isLarge = "residentBytes" in reply && reply.residentBytes > (this.#options.maxIdleBytes ?? maxIdleBytes)
      if (isLarge || ++this.#answered >= (this.#options.maxTasks ?? maxTasks)) child.drain()
      if ("failed" in reply) throw new Error(reply.failed)
      return reply.result as SegmentResults[K]
    })
  }

  /** Process id of the current process. */
  get pid(): number | undefined {
    return this.#children.current?.pid
  }

  stop(): Promise<void> {
    return this.#children.stop(new Error("The sealing process is stopped."))
  }

  #start(): ConfinedChild {
    this.#answered = 0
    return new ConfinedChild({
      name: "sealing process",
      main: new URL("./segment-main.ts", import.meta.url),
      parameters: [String(memoryMb)],
      codeCache: this.#options.codeCache,
    })
  }
}
