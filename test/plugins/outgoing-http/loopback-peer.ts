// A plain HTTP server on loopback. Answers as the test decides, and records its requests.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface PeerRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface Peer {
  readonly port: number
  readonly origin: string
  readonly asked: PeerRequest[]
  close(): Promise<void>
}

export async function listen(answer: (request: PeerRequest, response: ServerResponse) => void): Promise<Peer> {
  const requests: PeerRequest[] = []
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => {
      body += chunk
    })
    request.on("end", () => {
      const loopRequest = { method: request.method ?? "", url: request.url ?? "", headers: request.headers, body }
      requests.push(loopRequest)
      answer(loopRequest, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    asked: requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Settings of a client that may reach these hosts. */
export function outgoing(...allow_hosts: string[]) {
  return { allow_hosts, timeout_ms: 60_000, max_response_bytes: 100_000 }
}
