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
}

const unknownEndpoint = new AppError("not_found", "There is no active pipeline at this address.")
const tooBusy = new AppError("unavailable", "Too many events are under way; send it again.", { reason: "overloaded" }, { retryAfterS: 1 })

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
      request.resume()
      write(response, answerError(tooBusy), undefined)
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

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pipelines, life, clock } = this.#args
    const target = request.url ?? ""
    const mark = target.indexOf("?")
    const endpoint = mark < 0 ? target.slice(inboundPrefix.length) : target.slice(inboundPrefix.length, mark)
    const origin = request.headers.origin
    let live: LivePipeline | null
    try {
      this.#args.assertLive()
      const found = pipelines.byEndpoint(endpoint)
      live = found !== null && "then" in found ? await found : found
    } catch (error) {
      request.resume()
      if (!(error instanceof AppError)) throw error
      return write(
        response,
        answerError(
          new AppError("unavailable", "The service cannot take events now; send it again.", {}, { retryAfterS: 1, cause: error }),
        ),
        origin,
      )
    }
    const state = live?.stored.document.state
    if (!live || state === "disabled") {
      request.resume()
      this.#args.countUnknown()
      return write(response, answerError(unknownEndpoint), origin)
    }
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
    if (typeof read === "object" && "refused" in read) {
      const answer =
        state === "active" ? await life.refuse(live, { ...inbound, body: empty }, read.refused, read.size) : answerError(unknownEndpoint)
      response.shouldKeepAlive = false
      write(response, answer, origin)
      return
    }
    const complete: InboundRequest = { ...inbound, body: read }
    const handshake = await takeHandshake(live, complete, this.#args.source())
    if (handshake) return write(response, handshake, origin)
    if (state !== "active") {
      this.#args.countUnknown()
      return write(response, answerError(unknownEndpoint), origin)
    }
    if (complete.method !== "POST") return write(response, methodNotAllowed(complete.method), origin)
    write(response, await life.handle(live, complete), origin)
  }
}

const empty = Buffer.alloc(0)

/** The whole body; what to refuse it with; or "aborted" when the sender went away. */
function readBody(request: IncomingMessage, limit: number): Promise<Buffer | { refused: AppError; size: number | undefined } | "aborted"> {
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
