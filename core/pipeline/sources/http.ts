// The HTTP side of inbound events: finds the pipeline, reads the body within its bounds, hands the event on, writes the
// answer. Raw node:http, no router, no middleware: this is the hot path.
import type { IncomingMessage, ServerResponse } from "node:http"
import type { InboundRequest } from "../../contract/auth-mode.ts"
import { type InboundHandler, inboundPrefix } from "../../contract/inbound.ts"
import { BoundedLog } from "../../kernel/bounded-log.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import { type Answer, answerError } from "../event/answer.ts"
import type { LivePipeline, LivePipelines } from "../event/loaded-pipelines.ts"
import type { EventLife } from "../event/process.ts"
import { parseQuery } from "../event/request.ts"
import type { PipelineSource, StoredPipeline } from "../source.ts"
import { Room, type RoomLimits } from "./concurrency-limiter.ts"
import { takeHandshake } from "./handshake.ts"
import { empty, type Refused, readBody, Unfinished } from "./read-body.ts"

export interface HandlerArgs {
  readonly pipelines: LivePipelines
  readonly life: EventLife
  readonly source: () => PipelineSource
  readonly clock: Clock
  readonly log: Logger
  readonly maxBodyBytes: number
  readonly room: RoomLimits
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

/** Nothing longer is looked up, nor kept among the unknown ones. */
const longestEndpoint = 64

/** Bodies that come in one piece count for an instant only; this is for those that do not. */
const leastUnfinishedBytes = 64 << 20

const unexpected = answerError(new AppError("internal", "Something went wrong on our side."))

const lost = answerError(
  new AppError("data_loss", "This pipeline cannot take events until its operator has repaired it.", { reason: "unreadable" }),
)

/** One request on its way. */
interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly endpoint: string
  readonly query: string
  /** Whose room it takes, once that is known. */
  place: StoredPipeline | undefined
}

export class HttpInbound implements InboundHandler {
  readonly #args: HandlerArgs
  readonly #room: Room
  readonly #unfinished: Unfinished
  readonly #faults: BoundedLog

  constructor(args: HandlerArgs) {
    this.#args = args
    this.#room = new Room(args.room)
    this.#faults = new BoundedLog(args.log, args.clock)
    this.#unfinished = new Unfinished(Math.max(leastUnfinishedBytes, 4 * args.maxBodyBytes))
  }

  get inFlight(): number {
    return this.#room.taken
  }

  /** Callbacks, no promises, where nothing is waited for. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const target = request.url ?? ""
    const mark = target.indexOf("?")
    const endpoint = mark < 0 ? target.slice(inboundPrefix.length) : target.slice(inboundPrefix.length, mark)
    const turn: Turn = { request, response, endpoint, query: mark < 0 ? "" : target.slice(mark + 1), place: undefined }
    try {
      this.#args.assertLive()
    } catch (error) {
      this.#broken(turn, error)
      return
    }
    if (endpoint === "" || endpoint.length > longestEndpoint) this.#unknown(turn)
    else if (this.#room.taken >= this.#args.room.all) this.#turnAway(turn, this.#args.pipelines.known(endpoint))
    else this.#find(turn, (live) => this.#begin(turn, live))
  }

  /** Calls `found` at once where the pipeline is in memory. */
  #find(turn: Turn, found: (live: LivePipeline | null) => void): void {
    try {
      const live = this.#args.pipelines.byEndpoint(turn.endpoint)
      if (live === null || !("then" in live)) found(live)
      else
        live.then(
          () => this.#find(turn, found),
          (error: unknown) => this.#broken(turn, error),
        )
    } catch (error) {
      this.#broken(turn, error)
    }
  }

  #begin(turn: Turn, live: LivePipeline | null): void {
    const { request } = turn
    if (!takesRequests(live)) {
      this.#unknown(turn)
      return
    }
    if (request.method === "OPTIONS") {
      request.resume()
      this.#end(turn, { status: 204, headers: preflight, body: "" })
      return
    }
    // A place is taken once the body is there: whoever sends half of one takes none.
    if (!this.#room.hasFor(live.stored)) {
      this.#turnAway(turn, live)
      return
    }
    const inbound: Omit<InboundRequest, "body"> = {
      method: request.method ?? "POST",
      url: this.#args.publicUrl() + (request.url ?? ""),
      headers: request.headers,
      query: parseQuery(turn.query),
      receivedAt: this.#args.clock.now(),
    }
    readBody(request, { limit: this.#args.maxBodyBytes, unfinished: this.#unfinished }, (read) => {
      // Looked up again: a change made while the body came in (a secret rotated, the pipeline disabled) counts. From here
      // to the event's being counted as under way nothing is awaited.
      if (read === "aborted") this.#end(turn, undefined)
      else if (read === "crowded") this.#turnAway(turn, live)
      else this.#find(turn, (current) => this.#take(turn, current, inbound, read))
    })
  }

  #take(turn: Turn, live: LivePipeline | null, inbound: Omit<InboundRequest, "body">, read: Buffer | Refused): void {
    if (takesRequests(live)) {
      if (!this.#room.enter(live.stored)) {
        this.#turnAway(turn, live)
        return
      }
      turn.place = live.stored
    }
    const answer = takesRequests(live) ? this.#received(live, inbound, read, turn.request) : undefined
    if (!answer) {
      this.#unknown(turn)
      return
    }
    if (!Buffer.isBuffer(read)) turn.response.shouldKeepAlive = false
    if ("then" in answer) {
      answer.then(
        (settled) => this.#end(turn, settled),
        (error: unknown) => this.#broken(turn, error),
      )
    } else this.#end(turn, answer)
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

  #unknown(turn: Turn): void {
    turn.request.resume()
    this.#args.countUnknown()
    this.#end(turn, answerError(unknownEndpoint))
  }

  /** Counted in the journal of a pipeline that is in memory; nothing is loaded for it. */
  #turnAway(turn: Turn, live: LivePipeline | null | undefined): void {
    const { life, clock } = this.#args
    turn.request.resume()
    if (live?.stored.document.state === "active") life.turnAway(live, clock.now(), tooMany)
    this.#end(turn, answerError(tooMany))
  }

  #broken(turn: Turn, error: unknown): void {
    turn.request.resume()
    if (error instanceof AppError && error.code === "data_loss") {
      // Sending it again would not help: somebody must put back what is lost.
      this.#faults.error(
        `data_loss ${turn.endpoint}`,
        { err: error, endpoint: turn.endpoint },
        "a pipeline cannot take events: what it needs is lost",
      )
      this.#end(turn, lost)
      return
    }
    if (error instanceof AppError) {
      const message = "The service cannot take events now; send it again."
      this.#end(turn, answerError(new AppError("unavailable", message, {}, { retryAfterS: 1, cause: error })))
      return
    }
    this.#args.log.error({ err: error }, "an inbound request broke")
    this.#end(turn, unexpected)
  }

  /** Every request ends here, once; without an answer where its sender is gone. */
  #end(turn: Turn, answer: Answer | undefined): void {
    const { request, response, place } = turn
    if (place) this.#room.leave(place)
    if (!answer) return
    try {
      write(response, answer, request.headers.origin)
    } catch (error) {
      this.#args.log.error({ err: error }, "an inbound request's answer could not be written")
      if (response.headersSent) response.destroy()
      else write(response, unexpected, undefined)
    }
  }
}

/** A proposed pipeline answers handshakes only. */
function takesRequests(live: LivePipeline | null): live is LivePipeline {
  return live !== null && live.stored.document.state !== "disabled"
}

const preflight = {
  "access-control-allow-methods": "POST, OPTIONS",
  "access-control-allow-headers": "content-type, authorization, x-request-id, x-service-test",
  "access-control-max-age": "600",
}

/** What pages may read of an answer, beside what the pipeline itself exposes. */
const exposed = "x-request-id, retry-after"

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
    headers["access-control-expose-headers"] = [exposed, answer.headers?.["access-control-expose-headers"] ?? []].flat().join(", ")
    headers["vary"] = "origin"
  }
  response.writeHead(answer.status, headers)
  response.end(answer.body)
}
