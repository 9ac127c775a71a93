// Takes messages apart in a thread of its own, which is replaced where a message takes too long or too much memory.
import { Worker } from "node:worker_threads"
import { type Clock, token } from "#core"
import type { DnsAnswer, Lookup } from "../../sending-domains/index.ts"
import type { Authentication, Origin } from "./authentication.ts"
import type { MailContent } from "./content.ts"
import { headersAlone } from "./read-content.ts"

export type ToThread =
  | { readonly kind: "parse"; readonly raw: Uint8Array; readonly origin: Origin }
  | { readonly kind: "answer"; readonly question: number; readonly answer: DnsAnswer }

export type FromThread =
  | { readonly kind: "ask"; readonly question: number; readonly name: string; readonly type: string }
  | { readonly kind: "content"; readonly content: MailContent }
  | { readonly kind: "done"; readonly authentication: Authentication | undefined }

export interface ParsedMail {
  readonly content: MailContent
  readonly authentication: Authentication
}

const memory = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }
/** For taking a message apart; DNS has its own time-outs. */
const parseMs = 20_000
const checkMs = 40_000

const unchecked: Authentication = { spf: "temperror", dkim: "temperror", dmarc: "temperror", policy: "", signed_by: [], header: "" }

interface Current {
  readonly thread: Worker
  content: MailContent | undefined
  end(authentication: Authentication | undefined): void
}

export class MailParser {
  readonly #mta: string
  readonly #lookup: Lookup
  readonly #clock: Clock
  #thread: Worker | undefined
  #current: Current | undefined
  #cancel: () => void = () => undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(lookup: Lookup, clock: Clock, mta: string) {
    this.#mta = mta
    this.#lookup = lookup
    this.#clock = clock
  }

  /** Callers are served in turn. Never throws for what the message holds. */
  parse(raw: Uint8Array, origin: Omit<Origin, "mta">): Promise<ParsedMail> {
    const parsed = this.#turn.then(() => this.#parse(raw, { ...origin, mta: this.#mta }))
    this.#turn = parsed.catch(() => undefined)
    return parsed
  }

  async stop(): Promise<void> {
    await this.#thread?.terminate()
  }

  async #parse(raw: Uint8Array, origin: Origin): Promise<ParsedMail> {
    const thread = this.#started()
    const [content, authentication] = await new Promise<[MailContent | undefined, Authentication | undefined]>((resolve) => {
      const current: Current = { thread, content: undefined, end: (authentication) => resolve([current.content, authentication]) }
      this.#current = current
      this.#cancel = this.#clock.after(parseMs, () => this.#giveUp(thread))
      thread.postMessage({ kind: "parse", raw, origin } satisfies ToThread)
    })
    return { content: content ?? (await headersAlone(raw, "too_complex")), authentication: authentication ?? unchecked }
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
    if (message.kind === "ask") void this.#answer(thread, message)
    else if (message.kind === "done") this.#end(message.authentication)
    else {
      current.content = message.content
      this.#cancel()
      this.#cancel = this.#clock.after(checkMs, () => this.#giveUp(thread))
    }
  }

  /** The thread goes; what it has told so far stands. */
  #giveUp(thread: Worker): void {
    if (this.#thread !== thread) return
    this.#thread = undefined
    void thread.terminate()
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
