// `/metrics` for Prometheus. The page shows every organization, so the service's port requires a token for a scrape. Without a
// token the page answers this machine, except in production: a proxy on this machine may forward requests of strangers. On a
// separate port the operator restricts access.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Registry } from "prom-client"
import { AppError } from "../../kernel/errors.ts"
import { sameSecret } from "../../kernel/vault.ts"

export interface MetricsSettings {
  /** Bearer token; null: no token required. */
  readonly token: string | null
  readonly host: string
  /** Separate port; null: the service's port. */
  readonly port: number | null
  /** True: the service's port requires the token. */
  readonly production: boolean
}

export class MetricsPage {
  readonly #settings: MetricsSettings
  readonly #metrics: Pick<Registry, "metrics" | "contentType">
  readonly #server: Server | undefined
  #scrape: Promise<string> | undefined

  constructor(settings: MetricsSettings, metrics: Pick<Registry, "metrics" | "contentType">) {
    this.#settings = settings
    this.#metrics = metrics
    if (settings.port !== null)
      this.#server = createServer((request, response) => {
        // An error after the headers cannot be sent.
        this.#serveOwn(request, response).catch(() => response.destroy())
      })
  }

  /** True if the page is on the service's port. */
  get shared(): boolean {
    return this.#server === undefined
  }

  /** Listens on the separate port, if configured. */
  async start(): Promise<void> {
    const { host, port } = this.#settings
    if (!this.#server || port === null) return
    const server = this.#server
    await new Promise<void>((resolve, reject) => {
      server.once("error", (cause: NodeJS.ErrnoException) => reject(listenError({ host, port }, cause)))
      server.listen({ host, port }, resolve)
    })
  }

  async stop(): Promise<void> {
    const server = this.#server
    if (!server?.listening) return
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }

  /** Throws `unauthenticated` for an unauthorized request. */
  async show(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#authorise(request)
    await this.#send(request, response)
  }

  #authorise({ headers, socket }: IncomingMessage): void {
    const { token, production } = this.#settings
    const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1]
    if (token !== null) {
      if (given !== undefined && sameSecret(given, token)) return
      throw new AppError("unauthenticated", "Metrics need the token of metrics.token, as `Authorization: Bearer <token>`.", {
        reason: given === undefined ? "missing_credential" : "invalid_credential",
      })
    }
    if (production) {
      throw new AppError(
        "unauthenticated",
        "Metrics need a token in production: set metrics.token (MILLRACE_METRICS_TOKEN), or metrics.port to serve them on a separate port.",
        { reason: "missing_credential" },
      )
    }
    const forwarded = headers["x-forwarded-for"] !== undefined || headers.forwarded !== undefined
    // File system sockets and closed sockets have no address. A closed socket receives no response.
    if (!forwarded && (socket.remoteAddress === undefined || isLoopback(socket.remoteAddress))) return
    throw new AppError(
      "unauthenticated",
      "Metrics are available on this machine only: set metrics.token (MILLRACE_METRICS_TOKEN) for remote scrapes, or metrics.port to serve them on a separate port.",
      { reason: "missing_credential" },
    )
  }

  async #serveOwn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.split("?", 1)[0] !== "/metrics") return void response.writeHead(404).end()
    if (request.method !== "GET" && request.method !== "HEAD") return void response.writeHead(405, { Allow: "GET, HEAD" }).end()
    try {
      if (this.#settings.token !== null) this.#authorise(request)
      await this.#send(request, response)
    } catch (error) {
      response.writeHead(error instanceof AppError ? error.status : 500).end()
    }
  }

  /** Concurrent scrapes share one result. */
  async #send(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#scrape ??= this.#metrics.metrics().finally(() => {
      this.#scrape = undefined
    })
    const text = await this.#scrape
    response.writeHead(200, { "Content-Type": this.#metrics.contentType }).end(request.method === "HEAD" ? undefined : text)
  }
}

function isLoopback(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\./.test(address)
}

/** Describes a listen error and its remedy. */
export function listenError({ host, port }: { readonly host: string; readonly port: number }, cause: NodeJS.ErrnoException): Error {
  const remedy: Record<string, string> = {
    EADDRINUSE: "the port is in use; stop the other program, or set PORT to another port",
    EACCES: "permission denied; use a port above 1023, or grant the right",
    EADDRNOTAVAIL: "this machine has no such address; set HOST to one of its addresses, or to 0.0.0.0",
    ENOTFOUND: "this host name does not resolve; set HOST to an address of this machine",
  }
  const why = remedy[cause.code ?? ""] ?? cause.message
  return new Error(`Cannot listen on ${host}:${port} (${cause.code ?? "unknown"}): ${why}.`, { cause })
}
