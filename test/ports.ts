// Ports of servers that go down and come up again in the course of a test.
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"

/** Below those that systems give to all that connects or listens on any port. */
const [first, end] = [10_000, 32_768]

/** Free now, and given to nobody else while its server is down. */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, end)
    const server = createServer().listen(port, "127.0.0.1")
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, "close")
    return port
  }
}
