// A TCP proxy. Cuts connections after a number of bytes to the client, at any point of a message.
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

export interface CuttingProxy {
  readonly url: string
  /** Number of connections cut so far. */
  readonly cuts: number
  /** Byte counts for cutting the next connections. Later connections stay open. */
  cutAfter(bytes: readonly number[]): void
  /** Cuts all open connections. */
  cutNow(): void
  close(): Promise<void>
}

export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  const plan: number[] = []
  let cuts = 0
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let remaining = plan.shift() ?? Number.POSITIVE_INFINITY
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        open.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on("data", (chunk: Buffer) => {
      if (client.destroyed) return
      if (chunk.length < remaining) {
        remaining -= chunk.length
        client.write(chunk)
        return
      }
      cuts++
      // The forwarded bytes arrive; later bytes do not.
      upstream.removeAllListeners("data")
      client.write(chunk.subarray(0, remaining), () => client.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts
    },
    cutAfter(bytes) {
      plan.splice(0, plan.length, ...bytes)
    },
    cutNow() {
      for (const socket of open) socket.destroy()
    },
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
