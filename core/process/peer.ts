// A process or a thread of the service that answers requests. It can end at any time: its pending requests then fail.
import { type Clock, systemClock } from "../kernel/clock.ts"

export type KillReason = "deadline" | "memory" | "start" | "stop"

/** The end of a process or a thread. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
  /** Reason of the first kill by the service. */
  readonly killed: KillReason | undefined
  /** The end of its error output. */
  readonly stderr: string
  readonly cause: Error | undefined
}

/** Rejects the pending requests of an ended peer. */
export class PeerLost extends Error {
  readonly exit: Exit

  constructor(name: string, exit: Exit) {
    super(`The ${name} ended: ${exit.stderr.trim() || "without a message"}`, { cause: exit.cause })
    this.exit = exit
  }
}

export interface PeerProgram {
  /** For messages: "query process". */
  readonly name: string
  readonly main: URL
  /** Receives messages without the id of a pending request. */
  readonly onMessage?: (message: unknown) => void
}

/** A process or a thread with its pending requests. */
export abstract class Peer {
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #ended = Promise.withResolvers<Exit>()
  readonly #program: PeerProgram
  #last = 0
  #exit: Exit | undefined
  #killed: KillReason | undefined
  #isDraining = false
  readonly ended: Promise<Exit> = this.#ended.promise
  /** True after the first sign of a complete start. */
  isStarted = false

  constructor(program: PeerProgram) {
    this.#program = program
  }

  /** Returns true if the peer accepts requests. */
  get isAlive(): boolean {
    return !this.#exit && !this.#killed && !this.#isDraining
  }

  /** Sends the request with an `id`, and resolves with the answer of the same `id`. Throws PeerLost. */
  ask<Answer>(request: object): Promise<Answer> {
    if (this.#exit) return Promise.reject(new PeerLost(this.#program.name, this.#exit))
    const id = ++this.#last
    const answer = Promise.withResolvers<Answer>()
    this.send({ ...request, id })
    this.#pending.set(id, answer as PromiseWithResolvers<unknown>)
    return answer.promise
  }

  kill(reason: KillReason = "stop"): void {
    if (!this.#exit) this.#killed ??= reason
    this.end()
  }

  /** Kills the peer after this time. Returns a function that cancels the kill. */
  deadline(milliseconds: number, reason: KillReason = "deadline", clock: Clock = systemClock): () => void {
    return clock.after(milliseconds, () => this.kill(reason))
  }

  /** Accepts no further request, and ends after the pending ones. */
  drain(): void {
    this.#isDraining = true
    if (this.#pending.size === 0) this.kill()
  }

  async stop(): Promise<void> {
    this.kill()
    await this.ended
  }

  abstract send(message: object): void

  protected abstract end(): void

  protected received(message: unknown): void {
    if (this.#exit) return
    this.isStarted = true
    const id = (message as { id?: number } | null)?.id
    const request = id === undefined ? undefined : this.#pending.get(id)
    if (request) request.resolve(message)
    else this.#program.onMessage?.(message)
    if (id !== undefined) this.#pending.delete(id)
    if (this.#isDraining && this.#pending.size === 0) this.kill()
  }

  protected lost(exit: Omit<Exit, "killed">): void {
    if (this.#exit) return
    this.#exit = { ...exit, killed: this.#killed }
    this.#ended.resolve(this.#exit)
    for (const { reject } of this.#pending.values()) reject(new PeerLost(this.#program.name, this.#exit))
    this.#pending.clear()
  }
}
