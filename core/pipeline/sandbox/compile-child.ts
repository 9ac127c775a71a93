// A compile child from the compiler's side. It serves a single organization for its whole life, one program at a time. A schema
// of an organization therefore cannot affect another organization.
import { setPriority } from "node:os"
import { type Clock, giveUpAfter } from "../../kernel/clock.ts"
import type { AppError } from "../../kernel/errors.ts"
import { ChildLink, type Loss } from "./child-link.ts"
import { isolateBundle } from "./isolate-bundle.ts"
import type { Mapping } from "./mapping/mapping.ts"
import type { ProgramProblem, ResultFields } from "./sandbox.ts"

export interface Compiled {
  readonly validator: string | null
  readonly transform: string | null
  readonly fields: ResultFields | null
  readonly mapping: Mapping | null
  readonly problems: readonly ProgramProblem[]
}

export interface CompileJob {
  readonly organization: string
  /** JSON text, or "" without a schema. */
  readonly schema: string
  readonly transform: string | null
  readonly entry: string
  readonly resolve: (compiled: Compiled) => void
  readonly reject: (error: AppError) => void
  /** Number of children lost during this job. */
  losses: number
}

export interface CompileChildHandlers {
  /** The job is answered and the child is idle. */
  onIdle(): void
  /** The child is gone. `unfinished` is its current job, unless the job is known to be responsible. */
  onGone(loss: Loss, unfinished: CompileJob | null): void
  onReady(undenied: readonly string[]): void
}

/** CPU time in milliseconds, so a child without CPU time is not blamed. */
const deadlineMs = 2_000
/** Limit for a start, and for an unresponsive child. It is longer than the child's own limit for a job (child/hand.ts). */
const silentMs = 30_000
/** Memory of the isolate. A program that needs more gets a problem. */
const memoryMb = 256
/** The snapshot of the first child, created before any foreign text was in it. All children of this process share it. */
let snapshot: string | undefined

export class CompileChild {
  readonly organization: string
  ended = false
  readonly #clock: Clock
  readonly #link: ChildLink
  readonly #handlers: CompileChildHandlers
  #ready = false
  #job: CompileJob | null = null
  #cancelTimer = () => {}

  constructor(organization: string, clock: Clock, handlers: CompileChildHandlers) {
    this.organization = organization
    this.#clock = clock
    this.#handlers = handlers
    const entry = new URL("./child/compile-main.ts", import.meta.url)
    const parameters = [String(deadlineMs), String(memoryMb)]
    this.#link = new ChildLink(
      { entry, parameters, bundle: () => isolateBundle("compiler"), snapshot },
      {
        onSnapshot: (made) => {
          snapshot ??= made
        },
        onReady: (undenied) => {
          this.#ready = true
          handlers.onReady(undenied)
          this.#send()
        },
        onFrame: (parts) => this.#onFrame(parts),
        onLost: (loss) => this.#onLost(loss),
      },
    )
    yieldToEvents(this.#link.pid)
  }

  get idle(): boolean {
    return this.#job === null
  }

  /** Only for an idle child and its own organization. */
  compile(job: CompileJob): void {
    this.#job = job
    this.#limit()
    if (this.#ready) this.#send()
  }

  /** Ends the child after this idle time. */
  endAfter(idleMs: number): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#clock.after(idleMs, () => this.end())
  }

  /** Stops accepting jobs, even if the process still runs. */
  end(): void {
    this.ended = true
    this.#cancelTimer()
    this.#link.kill()
  }

  #send(): void {
    if (!this.#job) return
    this.#limit()
    const { schema, transform, entry } = this.#job
    this.#link.send(["job", schema, transform === null ? "0" : "1", transform ?? "", entry])
  }

  #limit(): void {
    this.#cancelTimer()
    this.#cancelTimer = giveUpAfter(this.#clock, silentMs, () => this.#link.kill("deadline"))
  }

  #onFrame([, kind = "", answer = ""]: string[]): void {
    const job = this.#job
    if (!job) return
    this.#finish(kind === "compiled" ? (JSON.parse(answer) as Compiled) : notCompiled(job, kind, answer))
    // An isolate without memory is gone, and a failed isolate has an unknown state.
    if (kind !== "compiled") this.end()
    this.#handlers.onIdle()
  }

  #onLost(loss: Loss): void {
    this.#cancelTimer()
    const job = this.#job
    const blamed = loss.report !== null || (loss.killed === "deadline" && this.#ready)
    if (job && blamed) this.#finish(tooSlow(job))
    this.#job = null
    this.#handlers.onGone(loss, blamed ? null : job)
  }

  #finish(compiled: Compiled): void {
    const job = this.#job
    this.#job = null
    this.#cancelTimer()
    job?.resolve(compiled)
  }
}

/** A niceness. Under contention, compilation gets a third of the CPU time of events. */
const priority = 5

/** Gives compilation a lower priority than events. */
function yieldToEvents(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, priority)
  } catch {
    // The process has already ended, and its link reports that.
  }
}

function notCompiled(job: CompileJob, kind: string, why: string): Compiled {
  return kind === "memory"
    ? refused(job, `took more than ${memoryMb} MB to compile; make it simpler`)
    : refused(job, `can't be compiled: ${why}`)
}

/** Result of a job that crashed a second process. */
export function crashed(job: CompileJob): Compiled {
  return refused(job, "ends the process that compiles it; make it simpler")
}

function tooSlow(job: CompileJob): Compiled {
  return refused(job, `took longer than ${deadlineMs / 1_000} s to compile; make it simpler`)
}

function refused(job: CompileJob, why: string): Compiled {
  const isSchema = job.schema !== ""
  const message = `${isSchema ? "request_schema" : "transform_js"} ${why}.`
  const problem: ProgramProblem = isSchema ? { part: "schema", message, pointer: "" } : { part: "transform", message }
  return { validator: null, transform: null, fields: null, mapping: null, problems: [problem] }
}
