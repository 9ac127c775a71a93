// HTTP entry of inbound events: finds the pipeline, reads the body within its bounds, processes the event and writes the answer.
// It uses raw node:http without router or middleware, because this is the hot path.
import type { IncomingMessage, ServerResponse } from "node:http"
import type { InboundRequest } from "../../contract/auth-mode.ts"
import { type InboundHandler, inboundPrefix } from "../../contract/route.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import { BufferBudget, empty, type RefusedBody, readBody } from "../../kernel/read-body.ts"
import { currentRequest, type RequestScope, runInRequest } from "../../kernel/request-scope.ts"
import { acceptsFiles } from "../document.ts"
import { answerError, type HttpAnswer, methodNotAllowed, preflight, writeAnswer } from "../event/answer.ts"
import type { LoadedPipeline } from "../event/loaded-pipelines.ts"
import { parseQuery } from "../event/request.ts"
import type { PipelineSource, StoredPipeline } from "../source.ts"
import { ConcurrencyLimiter, type ConcurrencyLimits } from "./concurrency-limiter.ts"
import { answerOf, HttpEvents, takeHandshake } from "./http-events.ts"
import type { IntakeSource } from "./intake.ts"
import type { SourceServices } from "./source-services.ts"
import type { UnservedRequests } from "./unserved-requests.ts"

export interface HttpServices extends SourceServices {
  readonly intakes: IntakeSource
  readonly source: () => PipelineSource
  readonly log: Logger
  readonly maxBodyBytes: number
  /** Maximum additional bytes for the files of a form. */
  readonly maxFileBytes: () => number
  readonly limits: ConcurrencyLimits
  /** Base of the public URL for providers, without a trailing slash. */
  readonly publicUrl: () => string
  readonly addressOf: (request: IncomingMessage) => string
  readonly countUnknown: () => void
  readonly unserved: UnservedRequests
  /** Aborts the waits of events. */
  readonly breakOff: () => void
  /** Throws `unavailable` if this node has lost its lease. Its cached state may then be stale. */
  readonly assertLease: () => void
}

const unknownEndpoint = new AppError("not_found", "No active pipeline is at this address.", { reason: "no_active_pipeline" })
const tooMany = new AppError(
  "resource_exhausted",
  "Too many events are in flight; send it again.",
  { reason: "too_many" },
  { retryAfterS: 1 },
)

/** A longer endpoint is neither looked up nor cached as unknown. */
const maxEndpointLength = 64

/** Budget for incomplete bodies. A body in one piece needs the budget only for an instant. */
const minIncompleteBytes = 64 << 20

const unexpected = answerError(new AppError("internal", "The service failed to process the request.", { reason: "internal" }))

/** A request with its response. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** The body arrives outside this scope. */
  readonly scope: RequestScope | undefined
  readonly endpoint: string
  readonly query: string
  receivedAt: number
  /** Owner of the acquired slot, if any. */
  slot: StoredPipeline | undefined
}

export class HttpSource implements InboundHandler {
  readonly events: HttpEvents
  readonly #services: HttpServices
  readonly #limiter: ConcurrencyLimiter
  readonly #budget: BufferBudget

  constructor(services: HttpServices) {
    this.#services = services
    this.events = new HttpEvents(services)
    this.#limiter = new ConcurrencyLimiter(services.limits)
    this.#budget = new BufferBudget(Math.max(minIncompleteBytes, 4 * services.maxBodyBytes))
  }

  get inFlight(): number {
    return this.#limiter.inFlight
  }

  breakOff(): void {
    this.#services.breakOff()
  }

  /** Uses callbacks instead of promises for synchronous work. */
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): void {
    const target = request.url ?? ""
    const mark = target.indexOf("?")
    const path = mark < 0 ? target.slice(inboundPrefix.length) : target.slice(inboundPrefix.length, mark)
    const endpoint = path.endsWith("/") ? path.replace(/\/{1,8}$/, "") : path
    const query = mark < 0 ? "" : target.slice(mark + 1)
    const scope = currentRequest()
    const exchange: Exchange = { request, response, requestId, scope, endpoint, query, receivedAt: 0, slot: undefined }
    try {
      this.#services.assertLease()
    } catch (error) {
      this.#unserved(exchange, error)
      return
    }
    if (endpoint === "" || endpoint.length > maxEndpointLength) this.#unknown(exchange)
    else if (this.#limiter.isFull) this.#shed(exchange, this.#services.pipelines.known(endpoint))
    else this.#find(exchange, (loaded) => this.#begin(exchange, loaded))
  }

  /** Calls `found` synchronously if the pipeline is in memory. */
  #find(exchange: Exchange, found: (loaded: LoadedPipeline | null) => void): void {
    try {
      const loaded = this.#services.pipelines.byEndpoint(exchange.endpoint)
      if (loaded === null || !("then" in loaded)) found(loaded)
      else
        loaded.then(
          () => this.#find(exchange, found),
          (error: unknown) => this.#unserved(exchange, error),
        )
    } catch (error) {
      this.#unserved(exchange, error)
    }
  }

  #begin(exchange: Exchange, loaded: LoadedPipeline | null): void {
    const { request } = exchange
    if (!takesRequests(loaded, request.method)) {
      this.#unknown(exchange)
      return
    }
    if (request.method === "OPTIONS") {
      request.resume()
      this.#end(exchange, preflight)
      return
    }
    if (this.#refusePaused(exchange, loaded)) return
    // An event acquires a slot after its body is complete. An incomplete body needs no slot.
    if (!this.#limiter.canAcquire(loaded.stored)) {
      this.#shed(exchange, loaded)
      return
    }
    exchange.receivedAt = this.#services.clock.now()
    readBody(request, { limit: this.#limitOf(request, loaded), budget: this.#budget }, (read, sent) => {
      // Looks the pipeline up again, because it may have changed while the body arrived: a rotated secret or a disabled pipeline.
      // From here until the event counts as in flight, all steps are synchronous.
      if (read === "aborted") this.#end(exchange, undefined)
      else if (read === "no_capacity") this.#shed(exchange, loaded)
      else this.#find(exchange, (current) => this.#take(exchange, current, read, sent))
    })
  }

  #limitOf({ headers }: IncomingMessage, { stored }: LoadedPipeline): number {
    const { maxBodyBytes, maxFileBytes } = this.#services
    const isMultipart = headers["content-type"]?.toLowerCase().startsWith("multipart/form-data") === true
    return isMultipart && acceptsFiles(stored.document) ? maxBodyBytes + maxFileBytes() : maxBodyBytes
  }

  #take(exchange: Exchange, loaded: LoadedPipeline | null, read: Buffer | RefusedBody, sent: Buffer | undefined): void {
    if (!takesRequests(loaded, exchange.request.method)) {
      this.#unknown(exchange)
      return
    }
    if (this.#refusePaused(exchange, loaded)) return
    if (!this.#limiter.tryAcquire(loaded.stored)) {
      this.#shed(exchange, loaded)
      return
    }
    exchange.slot = loaded.stored
    const { scope } = exchange
    if (scope) {
      scope.work.operation = "inbound"
      scope.work.organization = loaded.stored.organization.id
    }
    const answer = runInRequest(scope, () => this.#received(exchange, loaded, read, sent))
    if (!answer) {
      this.#unknown(exchange)
      return
    }
    if (!Buffer.isBuffer(read)) exchange.response.shouldKeepAlive = false
    if ("then" in answer) {
      answer.then(
        (settled) => this.#end(exchange, settled),
        (error: unknown) => this.#unserved(exchange, error),
      )
    } else this.#end(exchange, answer)
  }

  /**
   * Synchronous, so the event counts as in flight right after the look-up. Returns undefined if the pipeline does not accept the
   * request.
   */
  #received(
    exchange: Exchange,
    loaded: LoadedPipeline,
    read: Buffer | RefusedBody,
    sent: Buffer | undefined,
  ): HttpAnswer | Promise<HttpAnswer> | undefined {
    const { request: from, query, receivedAt } = exchange
    const { source, intakes, addressOf } = this.#services
    const active = loaded.stored.document.state === "active"
    const body = Buffer.isBuffer(read) ? read : empty
    const request: InboundRequest = {
      method: from.method ?? "POST",
      url: this.#services.publicUrl() + (from.url ?? ""),
      headers: from.headers,
      query: parseQuery(query),
      body,
      receivedAt,
      ...(sent && { encodedBody: sent }),
    }
    if (!Buffer.isBuffer(read)) return active ? this.events.refuse(loaded, request, read) : undefined
    const handshake = takeHandshake(loaded, request, source)
    if (handshake || !active) return handshake
    const isEvent = request.method === "POST" || (request.method === "GET" && loaded.verifier.takesGet === true)
    if (!isEvent) return methodNotAllowed(request.method)
    const { intake } = loaded
    const address = () => addressOf(from)
    return intake ? answerOf(intakes.take(intake, loaded, request, address)) : this.events.receive(loaded, request, address)
  }

  /** A paused organization does not change its data, so the refusal writes no entry. */
  #refusePaused(exchange: Exchange, { stored }: LoadedPipeline): boolean {
    try {
      this.#services.pauses.refuse(stored.organization.id)
      return false
    } catch (error) {
      exchange.request.resume()
      this.#end(exchange, answerError(asAppError(error)))
      return true
    }
  }

  #unknown(exchange: Exchange): void {
    exchange.request.resume()
    this.#services.countUnknown()
    this.#end(exchange, answerError(unknownEndpoint))
  }

  /** The journal counts a shed request if its pipeline is in memory. */
  #shed(exchange: Exchange, loaded: LoadedPipeline | null | undefined): void {
    const { request } = exchange
    request.resume()
    if (loaded?.stored.document.state === "active") this.events.shed(loaded, request.headers, tooMany)
    this.#end(exchange, answerError(tooMany))
  }

  /** Ends a request that failed before it became an event. */
  #unserved(exchange: Exchange, error: unknown): void {
    exchange.request.resume()
    this.#end(exchange, answerError(this.#services.unserved.refusal(error, exchange.endpoint)))
  }

  /** Ends every request exactly once. If the sender is gone, there is no answer. */
  #end(exchange: Exchange, answer: HttpAnswer | undefined): void {
    const { request, response, requestId, slot } = exchange
    if (slot) this.#limiter.release(slot)
    // An unhandled rejection may have failed the request meanwhile.
    if (!answer || response.writableEnded) return
    try {
      writeAnswer(response, answer, requestId, request.headers.origin)
    } catch (error) {
      this.#services.log.error({ err: error }, "the response to an inbound request could not be written")
      if (response.headersSent) response.destroy()
      else writeAnswer(response, unexpected, requestId, undefined)
    }
  }
}

/** A proposed pipeline answers handshakes only. */
function takesRequests(loaded: LoadedPipeline | null, method: string | undefined): loaded is LoadedPipeline {
  if (loaded === null) return false
  const { state } = loaded.stored.document
  return state === "active" || (state === "proposed" && method !== "OPTIONS")
}
