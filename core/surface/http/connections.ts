// The connections of the HTTP server. They take no more file descriptors than leave the service some for itself: further
// ones are answered 503, and beyond that closed. While the server stops, none whose client sends nothing holds it up.
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
  /** How many descriptors there are for connections; undefined where the system does not say. */
  readonly free?: () => number | undefined
}

/** Descriptors that connections leave to the rest of the service, at most: its own calls, files and processes. */
const maxReserved = 256
/** While the server stops, a client that sends nothing for so long in the middle of a request is not waited for. */
const stallMs = 1_000
/** Asked by those who run the service, and quick to answer: they go before. */
const probes: ReadonlySet<string | undefined> = new Set(["/healthz", "/readyz", "/metrics"])

interface Latest {
  response: ServerResponse<IncomingMessage> | undefined
  /** Bytes that had come by the last look. */
  seen: number
}

export class Connections {
  readonly #options: ConnectionsOptions
  readonly #log: BoundedLog
  readonly #refused: Counter<"how">
  /** Open ones, with the last request that came on each. */
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

  /** Before the server listens. */
  watch(server: Server): void {
    this.#server = server
    server.on("connection", (socket: Socket) => {
      this.#open.set(socket, { response: undefined, seen: 0 })
      socket.once("close", () => this.#open.delete(socket))
    })
    server.on("drop", () => this.#refuse("closed"))
  }

  /** When the server listens, and all else of the service is open. */
  limit(): void {
    const free = (this.#options.free ?? freeDescriptors)()
    if (free === undefined || !this.#server) return
    const reserved = Math.min(maxReserved, Math.ceil(free / 3))
    this.#max = Math.max(1, free - reserved)
    // A third of the reserve is for answering those beyond.
    this.#server.maxConnections = this.#max + Math.floor(reserved / 3)
  }

  /** To be told of every request. False where it was refused. */
  takes(request: IncomingMessage, response: ServerResponse): boolean {
    const latest = this.#open.get(request.socket)
    if (latest) latest.response = response
    if (this.#open.size <= this.#max || probes.has(request.url) || !this.#isLate(request.socket)) return true
    this.#refuse("answered")
    // Connections that wait for their next request make room for those that have one.
    this.#server?.closeIdleConnections()
    refuse(response, "There are too many connections; try again in a moment.", "too_many_connections")
    return false
  }

  /** Ends what cannot go on, again and again until the returned function is called. */
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

  /** Whether it came when there were as many already; they stand in the order in which they came. */
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

/** A request that is worked on goes on; so does one whose answer is being sent. */
function endWhereUnfinished(socket: Socket, response: ServerResponse<IncomingMessage> | undefined): void {
  // Half a head, or nothing yet.
  if (!response || response.writableFinished) socket.destroy()
  else if (!response.req.complete && !response.headersSent) refuse(response, "The service is stopping; send it again.", "draining")
}

function refuse(response: ServerResponse<IncomingMessage>, message: string, reason: "draining" | "too_many_connections"): void {
  response.setHeader("Connection", "close")
  response.req.resume()
  sendError(response.req, response, new AppError("unavailable", message, { reason }, { retryAfterS: 1 }))
}

/** Of this process, now. */
function freeDescriptors(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? []
    return limit === undefined ? undefined : Math.max(0, Number(limit) - readdirSync("/proc/self/fd").length)
  } catch {
    return undefined
  }
}
