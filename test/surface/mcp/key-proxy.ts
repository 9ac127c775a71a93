// A loopback proxy for clients without support for keys. It adds a key to every request.
import { createServer, request as forward } from "node:http"
import type { AddressInfo } from "node:net"

export interface KeyProxy {
  readonly url: string
  close(): Promise<void>
}

export async function keyProxy(target: string, key: string): Promise<KeyProxy> {
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${key}` }
    const onward = forward(new URL(request.url ?? "/", target), { method: request.method ?? "GET", headers, setHost: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.on("error", () => response.destroy())
    response.on("close", () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
