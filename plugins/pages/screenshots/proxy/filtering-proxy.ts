// The only network path of a browser: a forward proxy on loopback, one per render, with the policy of outgoing calls.
// Each connection resolves and checks its own name. So redirects, subresources, WebSockets and changed DNS answers cannot reach
// private addresses.
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { AppError } from "#core"
import type { OutgoingSockets } from "../../../platform/outgoing-http/index.ts"
import { forwardedHeaders, isOwnTunnel, type OwnPages, parseAuthority, parseForwarded, targetOf } from "./targets.ts"

export interface ProxyArgs {
  readonly sockets: OutgoingSockets
  readonly own: OwnPages
  /** Bound of all received bytes, over all connections. Beyond it the proxy receives no more. */
  readonly maxBytes: number
  /** Called once when the bound is exceeded. */
  readonly exceeded: () => void
}

export interface FilteringProxy {
  readonly url: string
  /** Returns the error of a target (`host:port`) that delivered no data. */
  failureAt(target: string): AppError | undefined
  close(): Promise<void>
}

const maxConnections = 256
const maxRemembered = 500

export async function startFilteringProxy(args: ProxyArgs): Promise<FilteringProxy> {
  const failures = new Map<string, AppError>()
  const open = new Set<Duplex>()
  const controller = new AbortController()
  let received = 0

  const fail = (target: string, error: unknown) => {
    if (failures.size < maxRemembered) failures.set(target, explained(target, error))
  }
  const keep = (socket: Duplex) => {
    open.add(socket)
    socket.on("close", () => open.delete(socket))
    socket.on("error", () => socket.destroy())
  }
  const counted = (socket: Socket) => {
    keep(socket)
    socket.on("data", (chunk: Buffer) => {
      const before = received
      received += chunk.length
      if (received <= args.maxBytes) return
      for (const stream of open) stream.destroy()
      if (before <= args.maxBytes) args.exceeded()
    })
    return socket
  }
  const dial = async (host: string, port: number) => {
    if (received > args.maxBytes) {
      const details = { reason: "response_too_large", max_bytes: args.maxBytes } as const
      throw new AppError("resource_exhausted", "The traffic limit is reached.", details)
    }
    const socket = await args.sockets.open(host, port, controller.signal)
    return counted(socket)
  }

  const server = createServer({ requestTimeout: 0, headersTimeout: 10_000 }, (request, response) => {
    forward(request, response).catch(() => response.destroy())
  })
  server.maxConnections = maxConnections
  server.on("connection", keep)
  server.on("connect", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    tunnel(request, socket, head).catch(() => socket.destroy())
  })

  /** HTTPS and WebSockets. The browser itself enforces the allowed paths of this service (page-guard.ts). */
  async function tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    keep(socket)
    const authority = parseAuthority(request.url ?? "")
    if (!authority) return void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")
    const { host, port } = authority
    let upstream: Socket
    try {
      upstream = isOwnTunnel(host, port, args.own) ? counted(await connectPlain(host, port)) : await dial(host, port)
    } catch (error) {
      fail(targetOf(host, port), error)
      return void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n")
    }
    if (socket.destroyed) return void upstream.destroy()
    socket.on("close", () => upstream.destroy())
    upstream.on("close", () => socket.destroy())
    socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
    if (head.length > 0) upstream.write(head)
    upstream.pipe(socket)
    socket.pipe(upstream)
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const forwarded = parseForwarded(request.method ?? "", request.url ?? "", args.own)
    if (!forwarded) return void response.writeHead(400).end()
    const { host, port, path, ours, sends } = forwarded
    const target = targetOf(host, port)
    try {
      if (sends)
        throw new AppError("failed_precondition", "Nothing can be sent to this service during a screenshot.", { reason: "read_only" })
      const socket = ours ? counted(await connectPlain(host, port)) : await dial(host, port)
      response.on("close", () => socket.destroy())
      await exchange(request, response, { socket, path })
    } catch (error) {
      fail(target, error)
      // No error response: the browser would show it as the page's own.
      response.destroy()
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    // Exclusive: otherwise workers of node:cluster with port 0 would share a port.
    server.listen({ port: 0, host: "127.0.0.1", exclusive: true }, resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failureAt: (target) => failures.get(target),
    close: () =>
      new Promise((resolve) => {
        controller.abort()
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

function exchange(request: IncomingMessage, response: ServerResponse, to: { socket: Socket; path: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    const { method = "GET" } = request
    const upstream = httpRequest({
      createConnection: () => to.socket,
      method,
      path: to.path,
      headers: forwardedHeaders(request.rawHeaders),
      setHost: false,
    })
    upstream.on("error", reject)
    upstream.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, forwardedHeaders(answer.rawHeaders))
      answer.pipe(response)
      answer.on("error", reject)
      response.on("close", resolve)
    })
    request.pipe(upstream)
  })
}

function connectPlain(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => resolve(socket))
    socket.once("error", reject)
  })
}

function explained(target: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error"
  return new AppError(
    "unavailable",
    `${target} did not respond with valid HTTP (${code}).`,
    { reason: "connection_failed" },
    { cause: error },
  )
}
