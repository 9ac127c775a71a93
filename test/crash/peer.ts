// The external system behind deferred steps. Counts each call by event and by idempotency key.
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface Peer {
  readonly host: string
  readonly url: string
  /** Idempotency keys of the calls for an event, one entry per call. */
  readonly calls: ReadonlyMap<number, readonly string[]>
  stop(): Promise<void>
}

export async function startPeer(): Promise<Peer> {
  const calls = new Map<number, string[]>()
  const server = createServer((request, response) => {
    let text = ""
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString()
    })
    request.on("end", () => {
      const { n } = JSON.parse(text) as { n: number }
      calls.set(n, [...(calls.get(n) ?? []), String(request.headers["idempotency-key"])])
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    host,
    url: `http://${host}/told`,
    calls,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
