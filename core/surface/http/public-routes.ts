// Public routes as one express handler. Finds the route of a path, answers OPTIONS and wrong methods, and converts requests and
// responses to the contract. Routes never see express.
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { NextFunction, Request, Response } from "express"
import type { Pauses } from "../../contract/pauses.ts"
import type { AnyRoute, RouteRequest, RouteResponse } from "../../contract/route.ts"
import type { Deps, TokenRecord } from "../../kernel/di.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import { bodyOf } from "../../kernel/read-body.ts"
import { nameWork } from "../../kernel/request-scope.ts"
import type { AddressLimits } from "../call/address-limits.ts"
import { mayBeCompressed, methodNotAllowed, variesByEncoding } from "./answer.ts"
import { corsHeaders, preflightHeaders } from "./cors.ts"
import { openDocument } from "./open-document.ts"
import { pathKey, pathRank, patternOf } from "./path-pattern.ts"

export interface PublicRoutesDeps {
  readonly routes: readonly AnyRoute[]
  /** Paths of operations. A route must not hide one of them. */
  readonly operations: readonly { readonly name: string; readonly http: { readonly method: string; readonly path: string } }[]
  readonly resolve: (inject: TokenRecord | undefined) => Deps<TokenRecord>
  /** Counts requests without a credential. */
  readonly addresses: AddressLimits
  readonly addressOf: (request: Request) => string
  readonly pauses: Pauses
  readonly log: Logger
}

interface Compiled {
  readonly route: AnyRoute
  readonly pattern: RegExp
}

const defaultMaxBodyBytes = 65_536

/** Throws if two routes, or a route and an operation, share a method and path. The message names both. */
export function publicRoutes(deps: PublicRoutesDeps): (request: Request, response: Response, next: NextFunction) => Promise<void> {
  const compiled = deps.routes
    .map((route) => ({ route, pattern: patternOf(route.path) }))
    .sort((one, other) => pathRank(one.route.path).localeCompare(pathRank(other.route.path)))
  refuseClashes(deps)
  return async (request, response, next) => {
    const found = compiled.filter(({ pattern }) => pattern.test(request.path))
    if (found.length === 0) return next()
    const methods = found.flatMap(({ route }) => (route.method === "GET" ? ["GET", "HEAD"] : [route.method]))
    const match = found.find(({ route }) => route.method === (request.method === "HEAD" ? "GET" : request.method))
    if (found.some(({ route }) => route.origins === "any")) corsHeaders(request, response, ["*"])
    if (match) return await answer(deps, match, request, response)
    const allowed = [...new Set([...methods, "OPTIONS"])].sort()
    if (request.method === "OPTIONS") {
      response.setHeader("Allow", allowed.join(", "))
      preflightHeaders(request, response, allowed)
      response.writeHead(204).end()
      return
    }
    // An operation at the same path handles its own methods.
    if (deps.operations.some(({ http }) => http.method === request.method && patternOf(http.path).test(request.path))) return next()
    throw methodNotAllowed(request.method, request.path, allowed)
  }
}

async function answer(deps: PublicRoutesDeps, { route, pattern }: Compiled, request: Request, response: Response): Promise<void> {
  response.locals["operation"] = route.name
  nameWork({ operation: route.name })
  const address = deps.addressOf(request)
  await deps.addresses.take(address)
  const requestId = String(response.locals["requestId"])
  const gone = new AbortController()
  response.once("close", () => gone.abort(new AppError("canceled", "The client disconnected.", { reason: "canceled" })))
  const matched = pattern.exec(request.path)?.groups ?? {}
  const given: RouteRequest = {
    method: route.method,
    url: request.originalUrl,
    get params() {
      return Object.fromEntries(Object.entries(matched).map(([name, text]) => [name, decodeURIComponent(text)]))
    },
    query: new URLSearchParams(/\?[^#]*/.exec(request.originalUrl)?.[0]),
    headers: headersOf(request),
    address,
    body: () => bodyOf(request, route.maxBodyBytes ?? defaultMaxBodyBytes),
    signal: gone.signal,
    requestId,
    log: deps.log.child({ request_id: requestId }),
  }
  const { organization } = matched
  if (organization !== undefined && route.whilePaused === undefined) deps.pauses.refuse(organization.toLowerCase())
  const made = await route.handle({ request: given, deps: deps.resolve(route.inject) })
  if (made.shared && typeof made.body === "string") await sharedText(route, made.body)(request, response, made.headers)
  else await send(request, response, made)
}

const sharedTexts = new WeakMap<AnyRoute, { readonly text: string; readonly send: ReturnType<typeof openDocument> }>()

/** Caches one text for each route. */
function sharedText(route: AnyRoute, text: string): ReturnType<typeof openDocument> {
  let known = sharedTexts.get(route)
  if (known?.text !== text) {
    known = { text, send: openDocument(() => text) }
    sharedTexts.set(route, known)
  }
  return known.send
}

async function send(request: Request, response: Response, { status = 200, headers = {}, body = "" }: RouteResponse): Promise<void> {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.statusCode = status
  if (status === 304) variesByEncoding(response)
  if (typeof body === "string" || body instanceof Uint8Array) {
    const bytes = Buffer.byteLength(body)
    if (request.method !== "HEAD" || !mayBeCompressed(request, bytes)) response.setHeader("Content-Length", bytes)
    response.end(request.method === "HEAD" ? undefined : body)
    return
  }
  if (request.method === "HEAD") {
    // The end of an unstarted iterator closes no source.
    if (body instanceof Readable) body.destroy()
    else await body[Symbol.asyncIterator]().return?.()
    response.end()
    return
  }
  try {
    await pipeline(Readable.from(body), response)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error
  }
}

function headersOf(request: Request): Record<string, string> {
  const entries = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
  )
  return Object.fromEntries(entries)
}

function refuseClashes({ routes, operations }: PublicRoutesDeps): void {
  const taken = new Map<string, string>()
  const take = (kind: string, name: string, method: string, path: string) => {
    const key = pathKey(method, path)
    const other = taken.get(key)
    if (other) throw new Error(`${other} and the ${kind} "${name}" both answer ${key}; give one another path.`)
    taken.set(key, `The ${kind} "${name}"`)
  }
  // The operation router reports two operations at one path.
  for (const { name, http } of operations) taken.set(pathKey(http.method, http.path), `The operation "${name}"`)
  for (const { name, method, path } of routes) take("route", name, method, path)
}
