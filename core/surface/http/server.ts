// The node:http server: events go straight to the inbound handler, probes and metrics are answered here, everything else
// goes to express. It guards against slow and oversized requests, and stops without cutting what is in progress.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { type InboundHandler, inboundPrefix } from "../../contract/route.ts"
import type { Store } from "../../contract/store.ts"
import { type Clock, giveUpAfter, sleep } from "../../kernel/clock.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { type Marked, type RequestScope, runInRequest } from "../../kernel/request-scope.ts"
import type { RequestListener } from "../rest.ts"
import { methodNotAllowed, requestIdOf, sendError, sendJson } from "./answer.ts"
import type { Connections } from "./connections.ts"
import { listenError, type MetricsPage } from "./metrics-page.ts"

/** For answers to events that are broken off at the drain deadline. */
export const breakOffMs = 500

export interface HttpServerDeps {
  readonly host: string
  readonly port: number
  /** Milliseconds for which readiness is refused before the port closes. */
  readonly leaveMs?: number
  readonly drainMs: number
  readonly rest: RequestListener
  readonly inbound: InboundHandler | undefined
  readonly live: LiveUpgrade | undefined
  /** Ends answers that stay open until one side ends them. */
  readonly closeStreams?: () => Promise<void>
  readonly store: Pick<Store, "ready">
  /** Destinations whose calls are paused because they do not answer. */
  readonly pausedDestinations?: () => number
  readonly metrics: MetricsPage
  readonly connections: Connections
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
}

/** What the sockets need of the server. */
export interface LiveUpgrade {
  /** What the sockets' paths begin with. */
  readonly path: string
  attach(server: Server): void
  /** Disconnects every socket, so that the server can close. */
  close(): Promise<void>
}

export interface HttpServer {
  /** Resolves with the base address once it listens; throws with the reason and the remedy when it cannot. */
  start(): Promise<{ host: string; port: number; url: string }>
  /** Takes no new connection, waits for what is in progress up to the drain time, then cuts the rest. */
  stop(): Promise<void>
}

const readyTimeoutMs = 2_000
const idleSweepMs = 50
/** Requests of one connection that wait for the answer to an earlier one; with more it is cut. */
const maxWaiting = 256
const limits = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
  // Filters of 10,000 characters come in the query, percent-encoded.
  maxHeaderSize: 65_536,
}

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  let leaving = false
  let draining = false
  let stopping: Promise<void> | undefined

  const watched = new Map<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>>([
    ["/healthz", async (request, response) => sendJson(request, response, 200, { status: "ok" })],
    ["/readyz", async (request, response) => sendJson(request, response, 200, await readiness(deps, leaving))],
  ])
  if (deps.metrics.shared) watched.set("/metrics", (request, response) => deps.metrics.show(request, response))

  const handle = (request: IncomingMessage, response: ServerResponse) =>
    runInRequest(new HttpScope(request, response), route, request, response)
  const route = (request: IncomingMessage, response: ServerResponse) => {
    if (!deps.connections.takes(request, response)) return
    if (draining) response.setHeader("Connection", "close")
    const url = originForm(request.url ?? "/")
    request.url = url
    if (deps.inbound && url.startsWith(inboundPrefix)) return deps.inbound.handle(request, response, requestIdOf(request, deps.ids))
    const path = (url.split("?", 1)[0] ?? "").replace(/(?<=.)\/$/, "")
    const answer = watched.get(path)
    if (!answer) return deps.rest(request, response)
    response.setHeader("X-Request-Id", requestIdOf(request, deps.ids))
    read(request, response, path, answer).catch((error: unknown) => sendError(request, response, asAppError(error)))
  }
  const waitingOn = new WeakMap<Socket, number>()
  /** Requests sent ahead of an answer wait until it is sent, so that a client that reads none waits for itself alone. */
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    if (response.socket) return handle(request, response)
    const { socket } = request
    const waiting = (waitingOn.get(socket) ?? 0) + 1
    if (waiting > maxWaiting) return void socket.destroy()
    waitingOn.set(socket, waiting)
    response.once("socket", () => {
      waitingOn.set(socket, (waitingOn.get(socket) ?? 1) - 1)
      handle(request, response)
    })
  }
  const server = createServer({ ...limits, shouldUpgradeCallback: (request) => becomesSocket(request, deps.live) }, listener)
  deps.connections.watch(server)
  server.on("clientError", (error, socket: Socket) => refuseBroken(error, socket, deps.ids.uuid()))

  return {
    async start() {
      await deps.metrics.start()
      deps.live?.attach(server)
      await new Promise<void>((resolve, reject) => {
        server.once("error", (cause: NodeJS.ErrnoException) => reject(listenError(deps, cause)))
        server.listen({ port: deps.port, host: deps.host }, resolve)
      })
      deps.connections.limit()
      const { address, port } = server.address() as AddressInfo
      const host = address.includes(":") ? `[${address}]` : address
      const url = `http://${host}:${port}`
      deps.log.info({ url }, "listening")
      return { host: address, port, url }
    },
    stop() {
      stopping ??= (async () => {
        leaving = true
        // Balancers that read readiness send to other nodes before connections are refused.
        if (server.listening && deps.leaveMs) await sleep(deps.clock, deps.leaveMs)
        draining = true
        await deps.live?.close()
        await deps.closeStreams?.()
        await deps.metrics.stop()
        if (!server.listening) return
        const closed = new Promise<void>((resolve) => server.close(() => resolve()))
        const stopSweeping = closeAsTheyFallIdle(server, deps.clock)
        const stopEnding = deps.connections.endStalled()
        let cut = () => {}
        const cancel = deps.clock.after(deps.drainMs, () => {
          deps.log.warn({ drain_ms: deps.drainMs }, "requests still in flight at the drain deadline are aborted")
          deps.inbound?.breakOff?.()
          cut = deps.clock.after(breakOffMs, () => server.closeAllConnections())
        })
        await closed
        stopSweeping()
        stopEnding()
        cancel()
        cut()
      })()
      return stopping
    },
  }
}

/** A request as the scope of its promises. */
class HttpScope implements RequestScope {
  readonly work: Marked = { operation: "http", organization: "" }
  readonly #request: IncomingMessage
  readonly #response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
  }

  fail(): void {
    const response = this.#response
    if (response.writableEnded || response.destroyed) return
    if (response.headersSent) response.destroy()
    else sendError(this.#request, response, new AppError("internal", "The service failed to process the request.", { reason: "internal" }))
  }
}

/** A kept-alive connection whose last request was in progress when the stop began falls idle later, and would hold the server open. */
function closeAsTheyFallIdle(server: Server, clock: Clock): () => void {
  let cancel = () => {}
  const sweep = () => {
    server.closeIdleConnections()
    cancel = clock.after(idleSweepMs, sweep)
  }
  sweep()
  return () => cancel()
}

async function readiness(deps: HttpServerDeps, leaving: boolean): Promise<{ status: string; paused_destinations?: number }> {
  if (leaving) throw new AppError("unavailable", "The service is stopping.", { reason: "draining" })
  let cancel = () => {}
  const late = new Promise<never>((_resolve, reject) => {
    cancel = giveUpAfter(deps.clock, readyTimeoutMs, () =>
      reject(new AppError("unavailable", `Storage did not answer within ${readyTimeoutMs} ms.`, { reason: "storage_timeout" })),
    )
  })
  try {
    await Promise.race([deps.store.ready(), late])
  } finally {
    cancel()
  }
  // Events are taken all the same.
  const paused = deps.pausedDestinations?.() ?? 0
  return { status: "ready", ...(paused > 0 ? { paused_destinations: paused } : {}) }
}

/** Clients offer other protocols besides (h2c, for one): those requests are answered as the plain ones that they also are. */
function becomesSocket({ url = "", headers }: IncomingMessage, live: LiveUpgrade | undefined): boolean {
  return live !== undefined && headers.upgrade?.toLowerCase() === "websocket" && url.startsWith(live.path)
}

const readMethods = ["GET", "HEAD", "OPTIONS"]

async function read(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<void> {
  const { method = "GET" } = request
  if (!readMethods.includes(method)) throw methodNotAllowed(method, path, readMethods)
  if (method !== "OPTIONS") return await answer(request, response)
  response.writeHead(204, { Allow: readMethods.join(", ") }).end()
}

/** Answers the preface of HTTP/2 without TLS: an empty SETTINGS frame, and GOAWAY with the error HTTP_1_1_REQUIRED (RFC 9113, 6.8 and 7). */
const http11Required = goAway("This service takes HTTP/1.1; send the request by it.")

function goAway(debugData: string): Buffer {
  const payload = Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, 0x0d]), Buffer.from(debugData)])
  const settings = [0, 0, 0, 4, 0, 0, 0, 0, 0]
  return Buffer.concat([Buffer.from([...settings, 0, 0, payload.length, 7, 0, 0, 0, 0, 0]), payload])
}

/** Requests that are not HTTP, too slow or with too long a head never reach a handler; they are answered here. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy()
  if (error.code === "HPE_PAUSED_H2_UPGRADE") return void socket.end(http11Required)
  const [status, code, message] = brokenAs(error.code)
  const body = JSON.stringify({ code, message, details: {} })
  const headers = `Connection: close\r\nX-Request-Id: ${requestId}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`)
}

function brokenAs(code: string | undefined): [status: string, code: string, message: string] {
  if (code === "HPE_HEADER_OVERFLOW") {
    return ["431 Request Header Fields Too Large", "resource_exhausted", `The request's head is larger than ${limits.maxHeaderSize} bytes.`]
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return ["408 Request Timeout", "deadline_exceeded", "The request timed out."]
  return ["400 Bad Request", "invalid_argument", "The request is not valid HTTP/1.1."]
}

// Request targets as a server reads them. One may also come whole, as proxies are sent it (RFC 9112 section 3.2.2); whom
// it names is of no matter here, and need not even be a valid name.

const schemeAndAuthority = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/** Path and query; `*` stays. */
function originForm(target: string): string {
  if (target.startsWith("/") || target === "*") return target
  const rest = target.replace(schemeAndAuthority, "")
  return rest.startsWith("/") ? rest : `/${rest}`
}
