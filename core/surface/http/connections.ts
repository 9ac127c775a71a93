// Limits the connections of the HTTP server, to leave file descriptors for the service. Connections above the limit get a 503,
// and above a second limit are closed. During a stop, silent clients are disconnected.
import { readdirSync, readFileSync } from "node:fs"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Counter } from "prom-client"
import type { Metrics } from "../../contract/metrics.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { BoundedLog, type Logger } from "../../kernel/log.ts"
import { sendError } from "./answer.ts"

export interface ConnectionsOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Free file descriptors. Undefined if the system does not report them. */
  readonly free?: () => number | undefined
}

/** Maximum of descriptors reserved for calls, files and processes of the service. */
const maxReserved = 256
/** During a stop, a client with an incomplete request is disconnected after this silence. */
const stallMs = 1_000
/** Probes of the operator. They are cheap and always answered. */
const probes: ReadonlySet<string | undefined> = new Set(["/healthz", "/readyz", "/metrics"])

interface Latest {
  response: ServerResponse<IncomingMessage> | undefined
  /** Received bytes at the last check. */
  seen: number
}

export class Connections {
  readonly #options: ConnectionsOptions
  readonly #log: BoundedLog
  readonly #refused: Counter<"how">
  /** Open connections with their latest request. */
  readonly #open = new Map<Socket, Latest>()
  #max = Number.POSITIVE_INFINITY
  #server: Server | undefined

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#log = new BoundedLog(options.log, options.clock)
    this.#refused = new Counter({
      name: "millrace_connections_refused_total",
      help: "Connections beyond what the limit of open files allows, by how they were refused: answered 503, or closed.",
      labelNames: ["how"],
      registers: [options.metrics],
    })
  }

  /** Call this before the server listens. */
  watch(server: Server): void {
    this.#server = server
    server.on("connection", (socket: Socket) => {
      this.#open.set(socket, { response: undefined, seen: 0 })
      socket.once("close", () => this.#open.delete(socket))
    })
    server.on("drop", () => this.#refuse("closed"))
  }

  /** Call this when the server listens and all other files of the service are open. */
  limit(): void {
    const free = (this.#options.free ?? freeDescriptors)()
    if (free === undefined || !this.#server) return
    const reserved = Math.min(maxReserved, Math.ceil(free / 3))
    this.#max = Math.max(1, free - reserved)
    // A third of the reserve is for 503 responses.
    this.#server.maxConnections = this.#max + Math.floor(reserved / 3)
  }

  /** Call this for every request. Returns false if the request was refused. */
  takes(request: IncomingMessage, response: ServerResponse): boolean {
    const latest = this.#open.get(request.socket)
    if (latest) latest.response = response
    if (this.#open.size <= this.#max || probes.has(request.url) || !this.#isLate(request.socket)) return true
    this.#refuse("answered")
    // Idle connections make room for connections with requests.
    this.#server?.closeIdleConnections()
    refuse(response, "There are too many connections; try again in a moment.", "too_many_connections")
    return false
  }

  /** Disconnects stalled clients at intervals until the returned function is called. */
  endStalled(): () => void {
    const { clock } = this.#options
    let cancel = () => {}
    const sweep = () => {
      for (const [socket, latest] of this.#open) {
        const { bytesRead } = socket
        if (bytesRead === latest.seen) endWhereUnfinished(socket, latest.response)
        latest.seen = bytesRead
      }
      cancel = clock.after(stallMs, sweep)
    }
    for (const [socket, latest] of this.#open) latest.seen = socket.bytesRead
    cancel = clock.after(stallMs, sweep)
    return () => cancel()
  }

  /** Returns true if the connection arrived after the limit was reached. Connections are in order of arrival. */
  #isLate(socket: Socket): boolean {
    let place = 0
    for (const one of this.#open.keys()) {
      if (++place > this.#max) return true
      if (one === socket) return false
    }
    return true
  }

  #refuse(how: "answered" | "closed"): void {
    this.#refused.inc({ how })
    const fields = { connections: this.#open.size, max: this.#max }
    this.#log.warn(how, fields, "more connections than the limit of open files allows are refused; raise it (LimitNOFILE, ulimit -n)")
  }
}

/** Requests in progress and responses being sent continue. */
function endWhereUnfinished(socket: Socket, response: ServerResponse<IncomingMessage> | undefined): void {
  // An incomplete head, or no data yet.
  if (!response || response.writableFinished) socket.destroy()
  else if (!response.req.complete && !response.headersSent) refuse(response, "The service is stopping; send it again.", "draining")
}

function refuse(response: ServerResponse<IncomingMessage>, message: string, reason: "draining" | "too_many_connections"): void {
  response.setHeader("Connection", "close")
  response.req.resume()
  sendError(response.req, response, new AppError("unavailable", message, { reason }, { retryAfterS: 1 }))
}

/** Free descriptors of this process. */
function freeDescriptors(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return limit === undefined ? undefined : Math.max(0, Number(limit) - readdirSync("/proc/self/fd").length)
  } catch {
    return undefined
  }
}
