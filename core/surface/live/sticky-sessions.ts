// Live sessions on several workers with a shared port. The session id names its worker, and other workers forward requests to it.
import { randomBytes } from "node:crypto"
import { request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { connect, createServer, type Server as NetServer } from "node:net"
import type { Duplex } from "node:stream"

/** This worker, and the Unix socket path of each worker. */
export interface StickyWorker {
  readonly number: number
  socketOf(number: number): string
}

export function sessionId({ number }: StickyWorker): string {
  return `w${number}-${randomBytes(15).toString("base64url")}`
}

const sessionPattern = /[?&]sid=w(\d{1,9})-/

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void
type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * Call this after socket.io is attached. Returns a function to close the socket server. A connection reaches any worker, and a
 * polling session uses many connections. Workers forward requests through Unix sockets, open only to this service's user.
 */
export function passOnForeign(server: Server, worker: StickyWorker): () => void {
  const requests = server.listeners("request") as RequestListener[]
  const upgrades = server.listeners("upgrade") as UpgradeListener[]
  server.removeAllListeners("request")
  server.removeAllListeners("upgrade")
  server.on("request", (request, response) => {
    const handleHere = () => {
      for (const listener of requests) listener.call(server, request, response)
    }
    const holder = foreignHolder(request, worker)
    if (holder === undefined) handleHere()
    else passRequest(request, response, worker.socketOf(holder), handleHere)
  })
  server.on("upgrade", (request, socket: Duplex, head: Buffer) => {
    const holder = foreignHolder(request, worker)
    if (holder === undefined) for (const listener of upgrades) listener.call(server, request, socket, head)
    else passUpgrade(request, socket, head, worker.socketOf(holder))
  })
  const socketServer: NetServer = createServer((socket) => server.emit("connection", socket))
  // Exclusive: otherwise, in a node:cluster worker, the primary would listen.
  socketServer.listen({ path: worker.socketOf(worker.number), exclusive: true })
  socketServer.unref()
  return () => socketServer.close()
}

function foreignHolder({ url = "" }: IncomingMessage, worker: StickyWorker): number | undefined {
  if (!url.startsWith("/live/")) return undefined
  const holder = sessionPattern.exec(url)?.[1]
  return holder === undefined || Number(holder) === worker.number ? undefined : Number(holder)
}

/** A session ends with its worker. This worker then answers with an unknown session. */
function passRequest(request: IncomingMessage, response: ServerResponse, socketPath: string, handleHere: () => void): void {
  const passed = httpRequest({ socketPath, method: request.method, path: request.url, headers: request.headers })
  let connected = false
  passed.once("socket", (socket) => {
    socket.once("connect", () => {
      connected = true
      request.pipe(passed)
    })
  })
  passed.once("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  passed.on("error", () => {
    if (!connected) handleHere()
    else response.destroy()
  })
  response.once("close", () => passed.destroy())
}

function passUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, socketPath: string): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`]
  for (let at = 0; at < request.rawHeaders.length; at += 2) lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`)
  const passed = connect(socketPath, () => {
    passed.write(`${lines.join("\r\n")}\r\n\r\n`)
    passed.write(head)
    socket.pipe(passed)
    passed.pipe(socket)
  })
  passed.on("error", () => socket.destroy())
  socket.on("error", () => passed.destroy())
  passed.on("close", () => socket.destroy())
  socket.on("close", () => passed.destroy())
}
