// Compiles programs in separate child processes, so an endless schema costs only its child. Each child serves a single
// organization. Organizations take turns with one program at a time. The wait for a child is at most one program for each
// organization ahead. Children start on first use and end when idle.
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { FairScheduler, type Share, type Turn } from "../../kernel/fair-scheduler.ts"
import type { Loss } from "./child-link.ts"
import { CompileChild, type Compiled, type CompileJob, crashed } from "./compile-child.ts"

const maxChildren = 3
const idleMs = 30_000
const maxWaiting = 10_000
const maxWaitingPerOrganization = 5_000
/** Maximum children lost to a program before its job ends. */
const maxLosses = 2

export interface ProgramSource {
  readonly organization: string
  /** null or undefined without a schema. */
  readonly schema: unknown
  readonly transform: string | null
  /** Name of the function to run. Default "transform". */
  readonly entry?: string
}

export interface CompilerObserver {
  /** `undenied` lists the rights that the platform could not remove from a child. */
  onReady(undenied: readonly string[]): void
  /** A child ended during a program, and the program is not known to be responsible. */
  onLost(loss: Loss): void
}

export class Compiler {
  readonly #clock: Clock
  readonly #observer: CompilerObserver
  readonly #waiting: FairScheduler<CompileJob>
  /** By organization, least recently used first. */
  readonly #children = new Map<string, CompileChild>()
  readonly #turns = new Map<CompileChild, Turn<CompileJob>>()
  #stopped = false

  constructor(clock: Clock, observer: CompilerObserver = { onReady: () => {}, onLost: () => {} }) {
    this.#clock = clock
    this.#observer = observer
    this.#waiting = new FairScheduler({
      slots: maxChildren,
      maxWaiting,
      maxWaitingPerOrganization,
      refuse: (job) => job.reject(unavailable("Too many pipelines are waiting to be compiled; retry.", "overloaded")),
    })
  }

  /** Rejects with `unavailable` if the result of compilation is unknown. */
  compile({ organization, schema, transform, entry = "transform" }: ProgramSource): Promise<Compiled> {
    if (this.#stopped) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      const text = schema === null || schema === undefined ? "" : JSON.stringify(schema)
      this.#waiting.add(organization, "", { organization, schema: text, transform, entry, resolve, reject, losses: 0 })
      this.#next()
    })
  }

  shares(): Share[] {
    return this.#waiting.shares()
  }

  stop(): void {
    this.#stopped = true
    for (const child of this.#children.values()) child.end()
    for (const job of this.#waiting.clear()) job.reject(stopping())
  }

  #next(): void {
    for (;;) {
      const turn = this.#waiting.next((_jobs, organization) => (this.#children.get(organization)?.idle === false ? 0 : 1))
      const job = turn?.items[0]
      if (!turn || !job) return
      const child = this.#childOf(turn.organization)
      this.#turns.set(child, turn)
      child.compile(job)
    }
  }

  /** Returns the organization's child, or a new one. At the maximum it replaces an idle child. */
  #childOf(organization: string): CompileChild {
    let child = this.#children.get(organization)
    if (!child || child.ended) {
      if (!child && this.#children.size >= maxChildren) this.#endIdle()
      child = this.#newChild(organization)
    }
    this.#children.delete(organization)
    this.#children.set(organization, child)
    return child
  }

  #endIdle(): void {
    for (const child of this.#children.values()) {
      if (!child.idle) continue
      this.#children.delete(child.organization)
      child.end()
      return
    }
  }

  #newChild(organization: string): CompileChild {
    const child: CompileChild = new CompileChild(organization, this.#clock, {
      onReady: (undenied) => this.#observer.onReady(undenied),
      onIdle: () => {
        child.endAfter(idleMs)
        this.#done(child)
      },
      onGone: (loss, unfinished) => {
        if (this.#children.get(organization) === child) this.#children.delete(organization)
        if (unfinished) this.#lost(unfinished, loss)
        this.#done(child)
      },
    })
    return child
  }

  /**
   * Retries in another child. If no child survives the program, the program is refused. Children killed from outside or never
   * started do not count.
   */
  #lost(job: CompileJob, loss: Loss): void {
    if (this.#stopped) {
      job.reject(stopping())
      return
    }
    this.#observer.onLost(loss)
    if (++job.losses < maxLosses) this.#waiting.putBack(job.organization, "", [job])
    else if (crashSignals.has(loss.signal ?? "")) job.resolve(crashed(job))
    else job.reject(unavailable("The sandbox cannot compile now; retry.", "sandbox_unavailable", new Error(loss.stderr.trim())))
  }

  #done(child: CompileChild): void {
    this.#turns.get(child)?.done()
    this.#turns.delete(child)
    if (!this.#stopped) this.#next()
  }
}

/** Signals of crashes in V8 and its compiled code. */
const crashSignals: ReadonlySet<string> = new Set(["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGTRAP"])

function unavailable(message: string, reason: "overloaded" | "sandbox_unavailable", cause?: Error): AppError {
  return new AppError("unavailable", message, { reason }, { retryAfterS: 1, cause })
}

function stopping(): AppError {
  return new AppError("unavailable", "The service is stopping.", { reason: "stopping" })
}
