// Compiles programs in an isolate of a child of its own, one at a time, so that a schema made to take forever costs that
// child and no event: the child's watching thread ends it and names the job. The child starts on first use and ends when
// it has been idle.
import type { Clock } from "../../kernel/clock.ts"
import { ChildLink, type Loss } from "./child-link.ts"
import { isolateBundle } from "./isolate-bundle.ts"
import type { ProgramProblem } from "./sandbox.ts"

export interface Compiled {
  readonly validator: string | null
  readonly transform: string | null
  readonly problems: readonly ProgramProblem[]
}

interface Job {
  readonly schema: string
  readonly transform: string | null
  readonly resolve: (compiled: Compiled) => void
}

/** Of the processor's time: a child that is not given it is not blamed. */
const deadlineMs = 2_000
/** For a start, and for a child that neither answers nor dies; longer than its watching thread lets one job last (watchdog.ts). */
const silentMs = 30_000
const idleMs = 30_000
/** Of the isolate; one that needs more is answered with a problem. */
const memoryMb = 256
const mostWaiting = 10_000

export class Compiler {
  readonly #clock: Clock
  readonly #waiting: Job[] = []
  #link: ChildLink | null = null
  #ready = false
  #job: Job | null = null
  #silent = false
  #cancelTimer = () => {}
  #stopped = false
  #id = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `schema` null: none. Never rejects. */
  compile(schema: unknown, transform: string | null): Promise<Compiled> {
    if (this.#stopped) return Promise.resolve(failed("The sandbox has stopped."))
    if (this.#waiting.length >= mostWaiting) return Promise.resolve(failed("Too many pipelines wait to be compiled; try again."))
    return new Promise((resolve) => {
      this.#waiting.push({ schema: schema === null || schema === undefined ? "" : JSON.stringify(schema), transform, resolve })
      this.#next()
    })
  }

  stop(): void {
    this.#stopped = true
    this.#link?.kill()
    for (const job of this.#waiting.splice(0)) job.resolve(failed("The sandbox has stopped."))
  }

  #next(): void {
    if (this.#job || this.#waiting.length === 0) return
    if (!this.#link) this.#start()
    if (!this.#ready || !this.#link) return
    this.#job = this.#waiting.shift() ?? null
    if (!this.#job) return
    const { schema, transform } = this.#job
    this.#limit()
    this.#link.send(["compile", String(++this.#id), schema, transform === null ? "0" : "1", transform ?? ""])
  }

  #start(): void {
    this.#ready = false
    this.#silent = false
    const link = new ChildLink("compile-main.ts", [String(deadlineMs), String(memoryMb)], {
      onFrame: (parts) => this.#onFrame(link, parts),
      onLost: (loss) => {
        if (link === this.#link) this.#onLost(loss)
      },
    })
    this.#link = link
    this.#limit()
  }

  /** Lets go of the child at once: a job that comes before it has ended starts another. */
  #retire(): void {
    const link = this.#link
    this.#link = null
    this.#ready = false
    link?.kill()
  }

  #limit(): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#clock.after(silentMs, () => {
      this.#silent = true
      this.#link?.kill()
    })
  }

  #onFrame(link: ChildLink, [id, kind = "", answer = ""]: string[]): void {
    if (id === "online") {
      this.#sendBundle(link)
      return
    }
    if (link !== this.#link) return
    this.#cancelTimer()
    if (id === "ready") this.#ready = true
    else if (this.#job) this.#finish(kind === "compiled" ? (JSON.parse(answer) as Compiled) : notCompiled(this.#job, kind, answer))
    // Its isolate is gone.
    if (kind !== "" && kind !== "compiled") this.#retire()
    this.#next()
    if (!this.#job) this.#cancelTimer = this.#clock.after(idleMs, () => this.#retire())
  }

  #sendBundle(link: ChildLink): void {
    isolateBundle("compiler").then(
      (text) => link.send(["bundle", text]),
      (error: Error) => link.kill(error.message),
    )
  }

  #onLost({ signal, exitCode, report, stderr }: Loss): void {
    this.#cancelTimer()
    const [named] = report ?? []
    const hadStarted = this.#ready
    const why = `The compiler ended (${signal ?? `exit ${exitCode}`}) ${stderr.trim().split("\n").at(-1) ?? ""}`.trim()
    this.#link = null
    this.#ready = false
    if (this.#job && named !== undefined && named !== String(this.#id)) {
      // It ended over the job before, whose answer was on its way: this one has not run.
      this.#waiting.unshift(this.#job)
      this.#job = null
    } else if (this.#job) this.#finish(named !== undefined || this.#silent ? tooSlow(this.#job) : failed(`${why}.`))
    else if (!hadStarted) for (const job of this.#waiting.splice(0)) job.resolve(failed(`${why}.`))
    this.#next()
  }

  #finish(compiled: Compiled): void {
    const job = this.#job
    this.#job = null
    job?.resolve(compiled)
  }
}

function failed(message: string): Compiled {
  return { validator: null, transform: null, problems: [{ part: "schema", message }] }
}

function notCompiled(job: Job, kind: string, why: string): Compiled {
  return kind === "memory"
    ? refused(job, `took more than ${memoryMb} MB to compile; make it simpler`)
    : refused(job, `can't be compiled: ${why}`)
}

function tooSlow(job: Job): Compiled {
  return refused(job, `took longer than ${deadlineMs / 1_000} s to compile; make it simpler`)
}

function refused(job: Job, why: string): Compiled {
  const isSchema = job.schema !== ""
  const message = `${isSchema ? "request_schema" : "transform_js"} ${why}.`
  const problem: ProgramProblem = isSchema ? { part: "schema", message, pointer: "" } : { part: "transform", message }
  return { validator: null, transform: null, problems: [problem] }
}
