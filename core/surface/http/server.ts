// The node:http server. Events go straight to the inbound handler, probes and metrics are answered here, other requests go to
// express. The server limits slow and oversized requests. A stop waits for requests in progress.
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

/** Time for responses to aborted events after the drain deadline, in milliseconds. */
export const breakOffMs = 500

export interface HttpServerDeps {
  readonly host: string
  readonly port: number
  /** Milliseconds of refused readiness before the port closes. */
  readonly leaveMs?: number
  readonly drainMs: number
  readonly rest: RequestListener
  readonly inbound: InboundHandler | undefined
  readonly live: LiveUpgrade | undefined
  /** Ends open-ended responses. */
  readonly closeStreams?: () => Promise<void>
  readonly store: Pick<Store, "ready">
  /** Number of unresponsive destinations with paused calls. */
  readonly pausedDestinations?: () => number
  readonly metrics: MetricsPage
  readonly connections: Connections
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
}

/** Interface between sockets and the server. */
export interface LiveUpgrade {
  /** Path prefix of sockets. */
  readonly path: string
  attach(server: Server): void
  /** Disconnects every socket, so the server can close. */
  close(): Promise<void>
}

export interface HttpServer {
  /** Resolves with the base address when the server listens. Throws with the reason and a remedy on failure. */
  start(): Promise<{ host: string; port: number; url: string }>
  /** Closes the port, waits for requests in progress up to the drain time, then cuts the remaining connections. */
  stop(): Promise<void>
}

const readyTimeoutMs = 2_000
const idleSweepMs = 50
/** Maximum of requests on one connection waiting for an earlier response. A connection with more requests is cut. */
const maxWaiting = 256
const limits = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
  // Filters of up to 10,000 characters arrive percent-encoded in the query.
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
  /** Pipelined requests wait for the earlier response. A client with unread responses therefore delays only itself. */
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
        // Load balancers read readiness and use other nodes before this node refuses connections.
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

/** A keep-alive connection with a request in progress becomes idle after the stop began. It would delay the stop. */
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
  // Events are still accepted.
  const paused = deps.pausedDestinations?.() ?? 0
  return { status: "ready", ...(paused > 0 ? { paused_destinations: paused } : {}) }
}

/** Clients may offer other protocols (for example h2c). Their requests are also valid HTTP/1.1 and are answered as HTTP/1.1. */
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

/**
 * Answers the preface of HTTP/2 without TLS: an empty SETTINGS frame, and GOAWAY with the error HTTP_1_1_REQUIRED (RFC 9113, 6.8
 * and 7).
 */
const http11Required = goAway("This service takes HTTP/1.1; send the request by it.")

function goAway(debugData: string): Buffer {
  const payload = Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, 0x0d]), Buffer.from(debugData)])
  const settings = [0, 0, 0, 4, 0, 0, 0, 0, 0]
  return Buffer.concat([Buffer.from([...settings, 0, 0, payload.length, 7, 0, 0, 0, 0, 0]), payload])
}

/** Answers invalid, slow or oversized requests. They never reach a handler. */
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

// Request targets as a server reads them. Proxies send an absolute target (RFC 9112 section 3.2.2). Its host is ignored and may
// be invalid.

const schemeAndAuthority = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/** Returns path and query. `*` is unchanged. */
function originForm(target: string): string {
  if (target.startsWith("/") || target === "*") return target
  const rest = target.replace(schemeAndAuthority, "")
  return rest.startsWith("/") ? rest : `/${rest}`
}
