// Parses messages in worker threads. A thread is replaced if a message exceeds the time or memory limit. Several threads keep a
// message with slow DNS from delaying others.
import { AppError, allDone, type Clock, token } from "#core"
import { ConfinedThread, OnDemand, PeerLost } from "#core/engine"
import type { DnsAnswer, Lookup } from "../../sending-domains/index.ts"
import type { Authentication, Origin } from "./authentication.ts"
import type { MailContent } from "./content.ts"

export type ToThread =
  | { readonly id: number; readonly kind: "parse"; readonly raw: Uint8Array; readonly origin: Origin }
  | { readonly id: number; readonly kind: "attachment"; readonly raw: Uint8Array; readonly index: number }
  | { readonly kind: "answer"; readonly question: number; readonly answer: DnsAnswer }

export type FromThread =
  | { readonly kind: "ask"; readonly question: number; readonly name: string; readonly type: string }
  | { readonly kind: "content"; readonly content: MailContent }
  | { readonly id: number; readonly bytes: Uint8Array | undefined }
  | { readonly id: number; readonly authentication: Authentication | undefined }

export interface ParsedMail {
  readonly content: MailContent
  readonly authentication: Authentication
}

const memory = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }
/** Milliseconds of the system clock, because a thread works in real time. DNS has its own time-outs. */
const parseMs = 20_000
const checkMs = 20_000

const unchecked: Authentication = { spf: "temperror", dkim: "temperror", dmarc: "temperror", policy: "", signed_by: [], header: "" }

/** Limit of threads. A further thread starts when all others are busy. */
export const maxThreads = 4

export class MailParser {
  readonly #threads: readonly ParserThread[]

  constructor(lookup: Lookup, clock: Clock, mta: string, threads = maxThreads) {
    this.#threads = Array.from({ length: threads }, () => new ParserThread(lookup, clock, mta))
  }

  /** Does not throw on any message content. */
  parse(raw: Uint8Array, origin: Omit<Origin, "mta">): Promise<ParsedMail> {
    return this.#free().parse(raw, origin)
  }

  /** Returns the content of an attachment by index, or undefined if unreadable. */
  attachment(raw: Uint8Array, index: number): Promise<Uint8Array | undefined> {
    return this.#free().attachment(raw, index)
  }

  #free(): ParserThread {
    const [free] = this.#threads.toSorted((a, b) => a.waiting - b.waiting)
    if (!free) throw new Error("The mail parser has no threads.")
    return free
  }

  async stop(): Promise<void> {
    await allDone(this.#threads.map((thread) => thread.stop()))
  }
}

class ParserThread {
  readonly #mta: string
  readonly #lookup: Lookup
  readonly #threads: OnDemand<ConfinedThread>
  /** Content of the current message. Remains valid if the authentication check fails. */
  #content: MailContent | undefined
  #cancelDeadline: () => void = () => undefined
  #turn: Promise<unknown> = Promise.resolve()
  /** Messages in progress or waiting for this thread. */
  waiting = 0

  constructor(lookup: Lookup, clock: Clock, mta: string) {
    this.#mta = mta
    this.#lookup = lookup
    this.#threads = new OnDemand(() => this.#start(), clock)
  }

  parse(raw: Uint8Array, origin: Omit<Origin, "mta">): Promise<ParsedMail> {
    return this.#inTurn(async () => {
      const checked = await this.#ask<Partial<ParsedMail>>({ kind: "parse", raw, origin: { ...origin, mta: this.#mta } })
      // Imported on first use, because the charsets are large.
      const content = this.#content ?? (await (await import("./read-content.ts")).headersAlone(raw, "too_complex"))
      return { content, authentication: checked?.authentication ?? unchecked }
    })
  }

  attachment(raw: Uint8Array, index: number): Promise<Uint8Array | undefined> {
    return this.#inTurn(async () => (await this.#ask<{ bytes?: Uint8Array }>({ kind: "attachment", raw, index }))?.bytes)
  }

  /** Runs calls in sequence. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    this.waiting++
    const done = this.#turn.then(run).finally(() => this.waiting--)
    this.#turn = done.catch(() => undefined)
    return done
  }

  stop(): Promise<void> {
    return this.#threads.stop(new AppError("unavailable", "The service is stopping.", { reason: "stopping" }))
  }

  /** Returns undefined if the message terminated the thread. */
  #ask<Answer>(request: object): Promise<Answer | undefined> {
    this.#content = undefined
    return this.#threads.use(async (thread) => {
      this.#cancelDeadline = thread.deadline(parseMs)
      try {
        return await thread.ask<Answer>(request)
      } catch (error) {
        if (error instanceof PeerLost) return undefined
        throw error
      } finally {
        this.#cancelDeadline()
      }
    })
  }

  #start(): ConfinedThread {
    const main = new URL("./parse-thread.ts", import.meta.url)
    const onMessage = (message: unknown) => this.#heard(thread, message as FromThread)
    const thread = new ConfinedThread({ main, name: "millrace-mail", limits: memory, onMessage })
    return thread
  }

  #heard(thread: ConfinedThread, message: FromThread): void {
    if (!("kind" in message)) return
    if (message.kind === "ask") this.#answer(thread, message).catch(() => thread.kill())
    else {
      this.#content = message.content
      this.#cancelDeadline()
      this.#cancelDeadline = thread.deadline(checkMs)
    }
  }

  async #answer(thread: ConfinedThread, { question, name, type }: Extract<FromThread, { kind: "ask" }>): Promise<void> {
    const answer = await this.#lookup(name, type as Parameters<Lookup>[1])
    thread.send({ kind: "answer", question, answer } satisfies ToThread)
  }
}

export const MailParserToken = token<MailParser>("MailParser")
