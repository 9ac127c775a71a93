// REST: an express app built from the registered operations. Admits the caller, reads the input from path, query and body,
// performs the call and writes the response. The operations define the meaning.
import type { IncomingMessage, ServerResponse } from "node:http"
import express, { type NextFunction, type Request, type RequestHandler, type Response } from "express"
import { Histogram, type Registry } from "prom-client"
import type { AnyOperation } from "../contract/operation.ts"
import { AppError, asAppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import type { Logger } from "../kernel/log.ts"
import { nameWork } from "../kernel/request-scope.ts"
import { fromHeaders, inSpan, SpanKind } from "../kernel/tracing.ts"
import type { AddressLimits } from "./call/address-limits.ts"
import type { CallAnswer } from "./call/answer.ts"
import { authorise } from "./call/authorise.ts"
import { type Quota, rateLimitHeaders } from "./call/rate-limit.ts"
import { compressed, jsonType, methodNotAllowed, requestIdOf, sendError, sendJson, sendStream, sendText } from "./http/answer.ts"
import { corsHeaders, preflightHeaders } from "./http/cors.ts"
import { credentialsOf, isTestCall } from "./http/credentials.ts"
import { heldToTag, readsBeside, refuseIfNoneMatch } from "./http/if-match.ts"
import { openDocument, type ServedDocument } from "./http/open-document.ts"
import { allowedMethods, routesOf } from "./http/path-pattern.ts"
import { readInput } from "./http/request-input.ts"
import type { Invoker } from "./invoke.ts"

export interface RestDeps {
  readonly operations: readonly AnyOperation[]
  readonly invoker: Invoker
  readonly ids: Ids
  readonly log: Logger
  readonly metrics: Registry
  readonly corsOrigins: readonly string[]
  readonly maxBodyBytes?: number
  /** Counts requests without a credential. */
  readonly addresses: AddressLimits
  readonly addressOf: (request: IncomingMessage) => string
  /** Name of the session's cookie. */
  readonly sessionCookie: string
  /** Documents served without a credential, by path, for example the OpenAPI document. */
  readonly documents?: Readonly<Record<string, ServedDocument>>
  /**
   * Handlers of other surfaces under their own path (`/mcp`). They receive the original request, with `res.locals.requestId` set.
   */
  readonly mounts?: Readonly<Record<string, Mount>>
  /** Routes without a credential. Calls `next()` for other paths. */
  readonly publicRoutes?: RequestHandler
}

export interface Mount {
  readonly methods: readonly string[]
  handle(request: Request, response: Response): Promise<void>
}

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

/** Throws if two operations share a method and path. */
export function createRest(deps: RestDeps): RequestListener {
  const routes = routesOf(deps.operations)
  const reads = readsBeside(deps.operations)
  const methodsAt = (asked: string): readonly string[] => {
    // Like express, ignores one trailing slash.
    const path = asked.replace(/\/$/, "")
    if (path === "" || Object.hasOwn(deps.documents ?? {}, path)) return ["GET", "HEAD", "OPTIONS"]
    return deps.mounts?.[path]?.methods ?? allowedMethods(routes, path)
  }
  const seconds = requestHistogram(deps.metrics)
  const app = express()
  app.disable("x-powered-by")
  app.disable("etag")
  app.set("query parser", false)
  app.set("strict routing", false)

  app.use((request, response, next) => {
    const requestId = requestIdOf(request, deps.ids)
    response.locals["requestId"] = requestId
    response.setHeader("X-Request-Id", requestId)
    response.setHeader("X-Content-Type-Options", "nosniff")
    corsHeaders(request, response, deps.corsOrigins)
    const ended = seconds.startTimer()
    response.once("close", () => {
      ended({ operation: String(response.locals["operation"] ?? "none"), method: request.method, status: response.statusCode })
    })
    next()
  })
  app.use(compressed())
  if (deps.publicRoutes) app.use(deps.publicRoutes)
  app.use((request, response, next) => {
    if (request.method !== "OPTIONS") return next()
    const methods = methodsAt(request.path)
    if (methods.length === 0) return next()
    response.setHeader("Allow", methods.join(", "))
    preflightHeaders(request, response, methods)
    response.writeHead(204).end()
  })
  for (const [path, document] of Object.entries(deps.documents ?? {})) {
    const send = openDocument(document.text)
    app.get(path, async (request, response) => {
      await deps.addresses.take(deps.addressOf(request))
      await send(request, response, { "Content-Type": document.contentType, ...document.headers })
    })
  }
  app.get("/", (request, response) => {
    response.vary("Accept")
    if (request.accepts(["json", "html"]) === "html") return void response.redirect(303, "/docs")
    sendJson(request, response, 200, { service: "Millrace", docs: "/docs", openapi: "/openapi.json", mcp: "/mcp", live: "/live" })
  })
  for (const [path, { handle }] of Object.entries(deps.mounts ?? {})) app.all(path, handle)
  for (const { operation, expressPath } of routes) {
    const method = operation.http.method.toLowerCase() as Lowercase<typeof operation.http.method>
    app[method](expressPath, (request, response) => answer(deps, { operation, read: reads.get(operation) }, request, response))
  }
  app.use((request) => {
    const methods = methodsAt(request.path)
    if (methods.length > 0) throw methodNotAllowed(request.method, request.path, methods)
    throw new AppError("not_found", `No operation is at ${request.method} ${request.path}. GET /openapi.json lists the operations.`, {
      reason: "unknown_path",
    })
  })
  app.use((cause: unknown, request: Request, response: Response, _next: NextFunction) => fail(deps, cause, request, response))
  return app
}

interface Called {
  readonly operation: AnyOperation
  /** The read of the changed resource. */
  readonly read: AnyOperation | undefined
}

async function answer(deps: RestDeps, called: Called, request: Request, response: Response): Promise<void> {
  const { http, name } = called.operation
  response.locals["operation"] = name
  nameWork({ operation: name })
  const span = { kind: SpanKind.SERVER, attributes: () => ({ "millrace.request_id": String(response.locals["requestId"]) }) }
  const result = await fromHeaders(request.headers, () =>
    inSpan(`${http.method} ${http.path}`, span, () => perform(deps, called, request, response)),
  )
  // An unhandled rejection already failed the request.
  if (response.writableEnded) return
  if (result.kind === "stream") return await sendStream(request, response, result.status, result.stream)
  if (result.repeated) response.setHeader("Idempotency-Replayed", "true")
  sendText(request, response, result.status, result.text, jsonType)
}

/** Reads query and body only after the caller is authenticated, counted and authorised. */
async function perform(deps: RestDeps, { operation, read }: Called, request: Request, response: Response): Promise<CallAnswer> {
  const { invoker } = deps
  const gone = new AbortController()
  response.once("close", () => gone.abort(new AppError("canceled", "The client disconnected.", { reason: "canceled" })))
  const credentials = credentialsOf(request, response, {
    surface: "rest",
    log: deps.log,
    address: deps.addressOf(request),
    cookie: deps.sessionCookie,
  })
  const admitted = await invoker.admit(credentials, {
    quotas: (quotas: readonly Quota[]) => void response.set(rateLimitHeaders(quotas)),
  })
  const caller = isTestCall(request) ? { ...admitted, isTest: true } : admitted
  authorise(operation.access, caller, operation.name)
  const { signal } = gone
  if (!operation.hints.readOnly && request.get("if-none-match") !== undefined) refuseIfNoneMatch(operation)
  const ifMatch = operation.hints.readOnly ? undefined : request.get("if-match")
  const answerOf = async (one: AnyOperation, input: unknown) => {
    const answer = await invoker.perform(one, input, caller, { signal })
    return answer.kind === "json" ? answer.body : undefined
  }
  const shown = read && operation.http.method === "PUT" ? () => answerOf(read, request.params) : undefined
  const given = await readInput(operation, { request, parameters: request.params, maxBodyBytes: deps.maxBodyBytes, shown })
  const precondition = ifMatch === undefined ? undefined : { ifMatch, operation, read, parameters: request.params, answerOf }
  const input = precondition ? await heldToTag(given, precondition) : given
  return await invoker.perform(operation, input, caller, { idempotencyKey: idempotencyKeyOf(request), signal, authorised: true })
}

function fail(deps: RestDeps, cause: unknown, request: Request, response: Response): void {
  const error =
    cause instanceof URIError
      ? new AppError("invalid_argument", "The path has an invalid percent-encoding.", { reason: "malformed_path" })
      : asAppError(cause)
  if (!(cause instanceof AppError) && !(cause instanceof URIError)) {
    deps.log.error({ err: cause, request_id: response.locals["requestId"], path: request.path }, "request failed")
  }
  if (response.writableEnded) return
  if (response.headersSent) return void response.destroy()
  sendError(request, response, error)
}

function requestHistogram(metrics: Registry): Histogram<"operation" | "method" | "status"> {
  return new Histogram({
    name: "millrace_http_request_seconds",
    help: "Duration of requests, by operation.",
    labelNames: ["operation", "method", "status"],
    registers: [metrics],
  })
}

// The Idempotency-Key of a request: bare, as most clients send it, or a quoted string as in
// draft-ietf-httpapi-idempotency-key-header-07. Both forms name the same key.

/** RFC 9651 section 3.3.3. Parameters are ignored. */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)" *(?:;.*)?$/

/** Returns other forms unchanged, for the call to refuse. Undefined without a header. */
function idempotencyKeyOf(request: Request): string | undefined {
  const given = request.get("idempotency-key")
  if (given === undefined || !given.startsWith('"')) return given
  const text = quoted.exec(given)?.[1]
  // A key with only an opening quote is invalid. The added space makes the call refuse it.
  return text === undefined ? `${given} ` : text.replaceAll(/\\(.)/g, "$1")
}
