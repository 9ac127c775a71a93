// The HTTP side of inbound events: finds the pipeline, reads the body within its bounds, hands the event on, writes the
// answer. Raw node:http, no router, no middleware: this is the hot path.
import type { IncomingMessage, ServerResponse } from "node:http"
import type { InboundRequest } from "../../contract/auth-mode.ts"
import { type InboundHandler, inboundPrefix } from "../../contract/inbound.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import type { PipelineSource } from "../source.ts"
import { type Answer, answerError } from "./answer.ts"
import type { EventLife } from "./event-life.ts"
import { takeHandshake } from "./handshake.ts"
import type { LivePipeline, LivePipelines } from "./live-pipelines.ts"
import { parseQuery } from "./request.ts"

export interface HandlerArgs {
  readonly pipelines: LivePipelines
  readonly life: EventLife
  readonly source: () => PipelineSource
  readonly clock: Clock
  readonly log: Logger
  readonly maxBodyBytes: number
  readonly maxInFlight: number
  /** Base of the URL that providers know; no trailing slash. */
  readonly publicUrl: () => string
  readonly countUnknown: () => void
  /** Throws `unavailable` when this node may not act on what it remembers. */
  readonly assertLive: () => void
  /** Answers for pipelines that a plugin runs itself; undefined for all others. */
  readonly takeOver: (live: LivePipeline, request: InboundRequest, from: IncomingMessage) => Promise<Answer> | undefined
}

const unknownEndpoint = new AppError("not_found", "There is no active pipeline at this address.")
const tooMany = new AppError(
  "resource_exhausted",
  "Too many events are under way; send it again.",
  { reason: "too_many" },
  { retryAfterS: 1 },
)

export class HttpInbound implements InboundHandler {
  readonly #args: HandlerArgs
  #inFlight = 0

  constructor(args: HandlerArgs) {
    this.#args = args
  }

  get inFlight(): number {
    return this.#inFlight
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    if (this.#inFlight >= this.#args.maxInFlight) {
      this.#turnAway(request, response)
      return
    }
    this.#inFlight++
    this.#serve(request, response)
      .catch((error: unknown) => {
        this.#args.log.error({ err: error }, "an inbound request broke")
        if (!response.headersSent) write(response, answerError(new AppError("internal", "Something went wrong on our side.")), undefined)
        else response.destroy()
      })
      .finally(() => {
        this.#inFlight--
      })
  }

  /** Counted in the journal of a pipeline that is in memory; nothing is loaded for it. */
  #turnAway(request: IncomingMessage, response: ServerResponse): void {
    const { pipelines, life, clock } = this.#args
    request.resume()
    const path = (request.url ?? "").slice(inboundPrefix.length)
    const live = pipelines.known(path.split("?", 1)[0] ?? "")
    if (live?.stored.document.state === "active") life.turnAway(live, clock.now(), tooMany)
    write(response, answerError(tooMany), request.headers.origin)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pipelines, clock } = this.#args
    const target = request.url ?? ""
    const mark = target.indexOf("?")
    const endpoint = mark < 0 ? target.slice(inboundPrefix.length) : target.slice(inboundPrefix.length, mark)
    const origin = request.headers.origin
    try {
      this.#args.assertLive()
      let live = pipelines.byEndpoint(endpoint)
      while (live !== null && "then" in live) {
        await live
        live = pipelines.byEndpoint(endpoint)
      }
      if (!takesRequests(live)) return this.#unknown(request, response, origin)
      if (request.method === "OPTIONS") {
        request.resume()
        return write(response, { status: 204, headers: preflight, body: "" }, origin)
      }
      const inbound: Omit<InboundRequest, "body"> = {
        method: request.method ?? "POST",
        url: this.#args.publicUrl() + target,
        headers: request.headers,
        query: parseQuery(mark < 0 ? "" : target.slice(mark + 1)),
        receivedAt: clock.now(),
      }
      const read = await readBody(request, this.#args.maxBodyBytes)
      if (read === "aborted") return
      // Looked up again: a change made while the body came in (a secret rotated, the pipeline disabled) counts. From here
      // to the event's being counted as under way nothing is awaited.
      live = pipelines.byEndpoint(endpoint)
      while (live !== null && "then" in live) {
        await live
        live = pipelines.byEndpoint(endpoint)
      }
      const answer = takesRequests(live) ? this.#received(live, inbound, read, request) : undefined
      if (!answer) return this.#unknown(request, response, origin)
      if (!Buffer.isBuffer(read)) response.shouldKeepAlive = false
      write(response, "then" in answer ? await answer : answer, origin)
    } catch (error) {
      request.resume()
      if (!(error instanceof AppError)) throw error
      const message = "The service cannot take events now; send it again."
      write(response, answerError(new AppError("unavailable", message, {}, { retryAfterS: 1, cause: error })), origin)
    }
  }

  /** Not async, so that nothing comes between the look-up and the event's being counted. undefined where nothing is taken. */
  #received(
    live: LivePipeline,
    inbound: Omit<InboundRequest, "body">,
    read: Buffer | Refused,
    from: IncomingMessage,
  ): Answer | Promise<Answer> | undefined {
    const { life, source, takeOver } = this.#args
    const active = live.stored.document.state === "active"
    if (!Buffer.isBuffer(read)) return active ? life.refuse(live, { ...inbound, body: empty }, read.refused, read.size) : undefined
    const complete: InboundRequest = { ...inbound, body: read }
    const handshake = takeHandshake(live, complete, source)
    if (handshake || !active) return handshake
    if (complete.method !== "POST") return methodNotAllowed(complete.method)
    return takeOver(live, complete, from) ?? life.handle(live, complete)
  }

  #unknown(request: IncomingMessage, response: ServerResponse, origin: string | undefined): void {
    request.resume()
    this.#args.countUnknown()
    write(response, answerError(unknownEndpoint), origin)
  }
}

/** A proposed pipeline answers handshakes only. */
function takesRequests(live: LivePipeline | null): live is LivePipeline {
  return live !== null && live.stored.document.state !== "disabled"
}

const empty = Buffer.alloc(0)

interface Refused {
  readonly refused: AppError
  readonly size: number | undefined
}

/** The whole body; what to refuse it with; or "aborted" when the sender went away. */
function readBody(request: IncomingMessage, limit: number): Promise<Buffer | Refused | "aborted"> {
  const tooLarge = (size: number | undefined) => ({
    refused: new AppError(
      "resource_exhausted",
      `The body is larger than ${limit} bytes.`,
      { reason: "body_too_large", limit_bytes: limit },
      { status: 413 },
    ),
    size,
  })
  const encoding = request.headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity") {
    request.resume()
    const refused = new AppError(
      "invalid_argument",
      `Bodies are taken as they are, not encoded as "${encoding}".`,
      { reason: "unsupported_content_encoding" },
      { status: 415 },
    )
    return Promise.resolve({ refused, size: undefined })
  }
  const declared = Number(request.headers["content-length"])
  if (declared > limit) {
    request.resume()
    return Promise.resolve(tooLarge(declared))
  }
  return new Promise((resolve) => {
    let first: Buffer | undefined
    let rest: Buffer[] | undefined
    let size = 0
    request.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) {
        request.removeAllListeners("data")
        request.resume()
        resolve(tooLarge(undefined))
      } else if (!first) first = chunk
      else if (rest) rest.push(chunk)
      else rest = [first, chunk]
    })
    request.on("end", () => resolve(rest ? Buffer.concat(rest, size) : (first ?? empty)))
    request.on("error", () => resolve("aborted"))
    request.on("close", () => {
      if (!request.complete) resolve("aborted")
    })
  })
}

const preflight = {
  "access-control-allow-methods": "POST, OPTIONS",
  "access-control-allow-headers": "content-type, authorization, x-service-test",
  "access-control-max-age": "600",
}

function methodNotAllowed(method: string): Answer {
  const answer = answerError(
    new AppError("unimplemented", `Events are sent by POST, not ${method}.`, { reason: "method_not_allowed" }, { status: 405 }),
  )
  return { ...answer, headers: { ...answer.headers, allow: "POST, OPTIONS" } }
}

/** Any page may post to a pipeline that lets it; the answer carries no credentials' worth. */
function write(response: ServerResponse, answer: Answer, origin: string | undefined): void {
  if (response.destroyed) return
  const headers: Record<string, string | number> = { ...answer.headers, "content-length": Buffer.byteLength(answer.body) }
  if (origin !== undefined) {
    headers["access-control-allow-origin"] = origin
    headers["vary"] = "origin"
  }
  response.writeHead(answer.status, headers)
  response.end(answer.body)
}
