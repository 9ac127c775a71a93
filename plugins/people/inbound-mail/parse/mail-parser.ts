// Takes messages apart in threads of their own, which are replaced where a message takes too long or too much memory.
// There are several, since one that waits for slow DNS is not to hold up the others.
import { Worker } from "node:worker_threads"
import { allDone, type Clock, throwUncaught, token } from "#core"
import type { DnsAnswer, Lookup } from "../../sending-domains/index.ts"
import type { Authentication, Origin } from "./authentication.ts"
import type { MailContent } from "./content.ts"

export type ToThread =
  | { readonly kind: "parse"; readonly raw: Uint8Array; readonly origin: Origin }
  | { readonly kind: "attachment"; readonly raw: Uint8Array; readonly index: number }
  | { readonly kind: "answer"; readonly question: number; readonly answer: DnsAnswer }

export type FromThread =
  | { readonly kind: "ask"; readonly question: number; readonly name: string; readonly type: string }
  | { readonly kind: "content"; readonly content: MailContent }
  | { readonly kind: "attachment"; readonly bytes: Uint8Array | undefined }
  | { readonly kind: "done"; readonly authentication: Authentication | undefined }

export interface ParsedMail {
  readonly content: MailContent
  readonly authentication: Authentication
}

const memory = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }
/** For taking a message apart; DNS has its own time-outs. */
const parseMs = 20_000
const checkMs = 20_000

const unchecked: Authentication = { spf: "temperror", dkim: "temperror", dmarc: "temperror", policy: "", signed_by: [], header: "" }

interface Current {
  readonly thread: Worker
  content: MailContent | undefined
  attachment?: Uint8Array | undefined
  end(authentication: Authentication | undefined): void
}

/** Threads; the second and those after it are started when those before them are busy. */
export const maxThreads = 4

export class MailParser {
  readonly #threads: readonly ParserThread[]

  constructor(lookup: Lookup, clock: Clock, mta: string, threads = maxThreads) {
    this.#threads = Array.from({ length: threads }, () => new ParserThread(lookup, clock, mta))
  }

  /** Never throws for what the message holds. */
  parse(raw: Uint8Array, origin: Omit<Origin, "mta">): Promise<ParsedMail> {
    return this.#free().parse(raw, origin)
  }

  /** What an attachment holds, by its place; undefined where it cannot be read. */
  attachment(raw: Uint8Array, index: number): Promise<Uint8Array | undefined> {
    return this.#free().attachment(raw, index)
  }

  #free(): ParserThread {
    const [first, ...others] = this.#threads
    if (!first) throw new Error("The mail parser has no threads.")
    return others.reduce((free, one) => (one.waiting < free.waiting ? one : free), first)
  }

  async stop(): Promise<void> {
    await allDone(this.#threads.map((thread) => thread.stop()))
  }
}

class ParserThread {
  readonly #mta: string
  readonly #lookup: Lookup
  readonly #clock: Clock
  #thread: Worker | undefined
  #current: Current | undefined
  #cancel: () => void = () => undefined
  #turn: Promise<unknown> = Promise.resolve()
  /** Messages that wait for it or are in it. */
  waiting = 0

  constructor(lookup: Lookup, clock: Clock, mta: string) {
    this.#mta = mta
    this.#lookup = lookup
    this.#clock = clock
  }

  parse(raw: Uint8Array, origin: Omit<Origin, "mta">): Promise<ParsedMail> {
    return this.#inTurn(() => this.#parse(raw, { ...origin, mta: this.#mta }))
  }

  attachment(raw: Uint8Array, index: number): Promise<Uint8Array | undefined> {
    return this.#inTurn(async () => (await this.#asked({ kind: "attachment", raw, index })).current.attachment)
  }

  /** Callers are served in turn. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    this.waiting++
    const done = this.#turn.then(run).finally(() => this.waiting--)
    this.#turn = done.catch(() => undefined)
    return done
  }

  async stop(): Promise<void> {
    await this.#thread?.terminate()
  }

  async #parse(raw: Uint8Array, origin: Origin): Promise<ParsedMail> {
    const { current, authentication } = await this.#asked({ kind: "parse", raw, origin })
    // Loaded for the first such message: the charsets are large.
    const content = current.content ?? (await (await import("./read-content.ts")).headersAlone(raw, "too_complex"))
    return { content, authentication: authentication ?? unchecked }
  }

  #asked(message: ToThread): Promise<{ current: Current; authentication: Authentication | undefined }> {
    const thread = this.#started()
    return new Promise((resolve) => {
      const current: Current = { thread, content: undefined, end: (authentication) => resolve({ current, authentication }) }
      this.#current = current
      this.#cancel = this.#clock.after(parseMs, () => this.#giveUp(thread))
      thread.postMessage(message)
    })
  }

  #started(): Worker {
    if (this.#thread) return this.#thread
    const thread = new Worker(new URL("./parse-thread.ts", import.meta.url), { name: "millrace-mail", resourceLimits: memory, env: {} })
    thread.unref()
    thread.on("error", () => this.#giveUp(thread))
    thread.on("exit", () => this.#giveUp(thread))
    thread.on("message", (message: FromThread) => this.#heard(thread, message))
    this.#thread = thread
    return thread
  }

  #heard(thread: Worker, message: FromThread): void {
    const current = this.#current
    if (!current || current.thread !== thread) return
    if (message.kind === "ask") this.#answer(thread, message).catch(() => this.#giveUp(thread))
    else if (message.kind === "done") this.#end(message.authentication)
    else if (message.kind === "attachment") {
      current.attachment = message.bytes
      this.#end(undefined)
    } else {
      current.content = message.content
      this.#cancel()
      this.#cancel = this.#clock.after(checkMs, () => this.#giveUp(thread))
    }
  }

  /** The thread goes; what it has told so far stands. */
  #giveUp(thread: Worker): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    thread.terminate().catch(throwUncaught)
    if (this.#current?.thread === thread) this.#end(undefined)
  }

  #end(authentication: Authentication | undefined): void {
    const current = this.#current
    this.#current = undefined
    this.#cancel()
    current?.end(authentication)
  }

  async #answer(thread: Worker, { question, name, type }: FromThread & { kind: "ask" }): Promise<void> {
    const answer = await this.#lookup(name, type as Parameters<Lookup>[1])
    thread.postMessage({ kind: "answer", question, answer } satisfies ToThread)
  }
}

export const MailParserToken = token<MailParser>("MailParser")
