// A web site on loopback, and an unreachable one that counts every connection to it.
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"

export interface Site {
  readonly port: number
  readonly host: string
  readonly origin: string
  /** Requested paths, in order. */
  readonly asked: string[]
  /** Number of connections so far. */
  connections(): number
  /** Resolves when the path has been requested. */
  wasAsked(path: string): Promise<void>
  close(): Promise<void>
}

export type Pages = Readonly<Record<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>>

/** Serves documents by path; other paths return 404. Accepts WebSockets at /echo and greets them. */
export async function startSite(pages: Pages): Promise<Site> {
  const urls: string[] = []
  const waiting = new Map<string, () => void>()
  let connections = 0
  const server = createServer((request, response) => {
    const path = request.url ?? ""
    urls.push(path)
    waiting.get(path)?.()
    const page = pages[path.split("?")[0] ?? ""]
    if (typeof page === "function") return page(request, response)
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "text/html; charset=utf-8" })
    response.end(page === undefined ? "none" : `<!doctype html><body style="margin:0">${page}`)
  })
  const open = new Set<Socket>()
  server.on("connection", (socket) => {
    connections++
    open.add(socket)
    socket.on("close", () => open.delete(socket))
  })
  server.on("upgrade", (request, socket) => {
    const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64")
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`)
    socket.write(Buffer.from([0x81, 2, ...Buffer.from("hi")]))
    socket.on("error", () => undefined)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    port,
    host: `127.0.0.1:${port}`,
    origin: `http://127.0.0.1:${port}`,
    asked: urls,
    connections: () => connections,
    wasAsked: (path) => (urls.includes(path) ? Promise.resolve() : new Promise((resolve) => waiting.set(path, resolve))),
    async close() {
      const closed = once(server, "close")
      server.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
