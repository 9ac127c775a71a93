// Messages of one POST to `/mcp`. All messages are counted before the first runs, and they run in order. The responses of a batch
// share a size limit; messages beyond the limit are refused before they start.
import { setImmediate as nextTurn } from "node:timers/promises"
import type { AnyCaller, Credentials } from "../../contract/caller.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Invoker } from "../invoke.ts"
import type { ToolView } from "./catalog.ts"
import { McpResources, type Readable } from "./resources.ts"
import type { McpCall, McpSession } from "./server.ts"

/** A batch lets other requests run after this many messages. */
const messagesPerTurn = 5

/** Size limit of all responses of a batch, in characters. After it no further message runs. */
const maxBatchChars = 400_000

export interface SessionDeps {
  readonly invoker: Invoker
  readonly credentials: Credentials
  /** Already counted for the first message. */
  readonly caller: AnyCaller
  readonly view: ToolView
  readonly readables: readonly Readable[]
}

type MessageId = string | number

export class HttpMcpSession implements McpSession {
  readonly view: ToolView
  readonly resources: McpResources
  /** The page of tools in place of the server's own page. Set if the message requests tools. */
  page: string | undefined
  readonly #deps: SessionDeps
  /** Messages with an already counted first call. */
  readonly #counted = new Set<MessageId>()
  readonly #refused = new Map<MessageId, AppError>()
  readonly #isBatch: boolean
  #chars = 0
  #run = 0
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(deps: SessionDeps, isBatch: boolean) {
    this.#deps = deps
    this.#isBatch = isBatch
    this.view = deps.view
    this.resources = new McpResources(deps.readables, deps.view)
  }

  /** Counts the messages of a parsed body. */
  static async open(deps: SessionDeps, body: unknown): Promise<HttpMcpSession> {
    const messages = (Array.isArray(body) ? body : [body]).slice(0, maxMessages)
    const session = new HttpMcpSession(deps, Array.isArray(body))
    let refusal: AppError | undefined
    for (const [index, message] of messages.entries()) {
      const id = idOf(message)
      if (index % messagesPerTurn === messagesPerTurn - 1) await nextTurn()
      if (index > 0) refusal ??= await deps.invoker.admit(deps.credentials).then(noRefusal, asAppError)
      if (id === undefined) continue
      if (refusal) session.#refused.set(id, refusal)
      else session.#counted.add(id)
    }
    return session
  }

  run<T>(message: MessageId, work: () => Promise<T> | T): Promise<T> {
    const turn = this.#turn.then(async () => {
      if (this.#isBatch && ++this.#run % messagesPerTurn === 0) await nextTurn()
      const refusal = this.#refused.get(message)
      if (refusal) throw refusal
      if (this.#isBatch && this.#chars > maxBatchChars)
        throw new AppError(
          "resource_exhausted",
          `The answers of this batch have more than ${maxBatchChars} characters; send smaller batches.`,
          {
            reason: "batch_too_large",
            max_characters: maxBatchChars,
          },
        )
      const answer = await work()
      if (this.#isBatch) this.#chars += JSON.stringify(answer).length
      return answer
    })
    this.#turn = turn.catch(() => {})
    return turn
  }

  async call(operation: Parameters<McpSession["call"]>[0], input: unknown, { message, signal, idempotencyKey }: McpCall) {
    const { invoker, credentials, caller } = this.#deps
    const now = this.#counted.delete(message) ? caller : await invoker.admit(credentials)
    const answer = await invoker.perform(operation, input, now, { signal, idempotencyKey })
    if (answer.kind === "stream") throw new Error(`${operation.name} answers a stream, and is not a tool.`)
    return answer
  }

  /** A page of tools is written from the cached text, except in a batch. */
  listing(text: string): boolean {
    if (this.#isBatch) return false
    this.page = text
    return true
  }
}

/** Batch limit of the protocol's server. It refuses longer batches as a whole. */
const maxMessages = 100

function noRefusal(): undefined {
  return undefined
}

function idOf(message: unknown): MessageId | undefined {
  const id = typeof message === "object" && message !== null ? (message as { id?: unknown }).id : undefined
  return typeof id === "string" || typeof id === "number" ? id : undefined
}
