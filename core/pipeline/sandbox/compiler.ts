// Compiles programs in children of their own, so that a schema made to take forever costs that child and no event. Each
// child serves one organization; organizations take turns, each with one program at a time, and wait for a child at most
// as long as those before them compile one program each. Children start on first use and end when they have been idle.
import type { Clock } from "../../kernel/clock.ts"
import { FairScheduler, type Share, type Turn } from "../../kernel/fair-scheduler.ts"
import { CompileChild, type Compiled, type CompileJob, failed } from "./compile-child.ts"

const maxChildren = 3
const idleMs = 30_000
const maxWaiting = 10_000
const maxWaitingPerOrganization = 5_000

export interface ProgramSource {
  readonly organization: string
  /** null or undefined: none. */
  readonly schema: unknown
  readonly transform: string | null
  /** The function of `transform` that is run; "transform" unless given. */
  readonly entry?: string
}

export class Compiler {
  readonly #clock: Clock
  readonly #onReady: (undenied: readonly string[]) => void
  readonly #waiting: FairScheduler<CompileJob>
  /** By organization, least recently used first. */
  readonly #children = new Map<string, CompileChild>()
  readonly #turns = new Map<CompileChild, Turn<CompileJob>>()
  #stopped = false

  constructor(clock: Clock, onReady: (undenied: readonly string[]) => void = () => {}) {
    this.#clock = clock
    this.#onReady = onReady
    this.#waiting = new FairScheduler({
      slots: maxChildren,
      maxWaiting,
      maxWaitingPerOrganization,
      refuse: (job) => job.resolve(failed("Too many pipelines are waiting to be compiled; retry.")),
    })
  }

  /** Never rejects. */
  compile({ organization, schema, transform, entry = "transform" }: ProgramSource): Promise<Compiled> {
    if (this.#stopped) return Promise.resolve(failed("The sandbox has stopped."))
    return new Promise((resolve) => {
      const text = schema === null || schema === undefined ? "" : JSON.stringify(schema)
      this.#waiting.add(organization, "", { organization, schema: text, transform, entry, resolve })
      this.#next()
    })
  }

  shares(): Share[] {
    return this.#waiting.shares()
  }

  stop(): void {
    this.#stopped = true
    for (const child of this.#children.values()) child.end()
    for (const job of this.#waiting.clear()) job.resolve(failed("The sandbox has stopped."))
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

  /** The organization's own, or a new one, in the place of one that idles where there are as many as may be. */
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
      onReady: this.#onReady,
      onIdle: () => {
        child.endAfter(idleMs)
        this.#done(child)
      },
      onGone: () => {
        if (this.#children.get(organization) === child) this.#children.delete(organization)
        this.#done(child)
      },
    })
    return child
  }

  #done(child: CompileChild): void {
    this.#turns.get(child)?.done()
    this.#turns.delete(child)
    if (!this.#stopped) this.#next()
  }
}
