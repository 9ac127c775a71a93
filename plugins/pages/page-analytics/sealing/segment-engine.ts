// The process that seals page events. A task fails if the process ends; the caller retries from the committed state.
import { ConfinedChild, OnDemand } from "#core/engine"

/** What the sealing process is asked to do. All paths are absolute; results are about the file at `out`. */
export type SegmentTask =
  /** One JSON object a line, in `rows`, becomes a segment. */
  | { readonly kind: "write"; readonly rows: string; readonly out: string }
  /** Segments become one, without some rows; none is written where no row is left. */
  | { readonly kind: "merge"; readonly files: readonly string[]; readonly without: readonly string[]; readonly out: string }
  /** Row ids and versions received since then. */
  | { readonly kind: "recent"; readonly files: readonly string[]; readonly since: string }
  /** Those of the files that hold one of the rows. */
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
/** The allocator of the engine keeps pages between tasks, so that the process grows with each task. */
const maxTasks = 1_000
const maxIdleBytes = 320 << 20

export interface SegmentEngineOptions {
  /** Folder of compiled code. It halves the time of a start. */
  readonly codeCache?: string
  /** Tasks after which the process is replaced. */
  readonly maxTasks?: number
  /** Resident memory after a task beyond which the process is replaced. */
  readonly maxIdleBytes?: number
}

export class SegmentEngine {
  readonly #options: SegmentEngineOptions
  readonly #children = new OnDemand(() => this.#start())
  /** By the present process. */
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

  /** Of the present process. */
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
