// A compile child as the compiler sees it: it serves one organization from its first program to its end, one program at
// a time, so that nothing which one organization's schema does to it is there for another's.
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
  /** JSON text, or "" without one. */
  readonly schema: string
  readonly transform: string | null
  readonly entry: string
  readonly resolve: (compiled: Compiled) => void
  readonly reject: (error: AppError) => void
  /** Children that were lost with this in hand. */
  losses: number
}

export interface CompileChildHandlers {
  /** The job in hand is answered, and the child has nothing to do. */
  onIdle(): void
  /** It is gone. `unfinished` is the job that it had, where nothing says that the job is to blame. */
  onGone(loss: Loss, unfinished: CompileJob | null): void
  onReady(undenied: readonly string[]): void
}

/** Of the processor's time: a child that is not given it is not blamed. */
const deadlineMs = 2_000
/** For a start, and for a child that neither answers nor dies; longer than it lets one job last itself (child/hand.ts). */
const silentMs = 30_000
/** Of the isolate; a program that needs more is answered with a problem. */
const memoryMb = 256
/** The first child's, made before any foreign text was in it; the same for all of this process. */
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

  /** Only of an idle child, and of its organization. */
  compile(job: CompileJob): void {
    this.#job = job
    this.#limit()
    if (this.#ready) this.#send()
  }

  /** Ends it when it has had nothing to do for so long. */
  endAfter(idleMs: number): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#clock.after(idleMs, () => this.end())
  }

  /** It takes no job any more, whether or not its process is gone yet. */
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
    // An isolate that ran out of memory is gone, and one that threw may be in any state.
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

/** A niceness: a third of what events get of a processor that both want. */
const priority = 5

/** Programs are compiled when events leave time for it. */
function yieldToEvents(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, priority)
  } catch {
    // It has ended already, which its link tells.
  }
}

function notCompiled(job: CompileJob, kind: string, why: string): Compiled {
  return kind === "memory"
    ? refused(job, `took more than ${memoryMb} MB to compile; make it simpler`)
    : refused(job, `can't be compiled: ${why}`)
}

/** Of a job that took a second process down as well. */
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
