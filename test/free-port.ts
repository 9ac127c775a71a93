// Finds a port for a service that needs a fixed port. System-chosen ports are unsuitable: the system could assign the same port
// to another listener or connection before the service listens.
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"

/** Below the system's own range (Linux: from 32768, others: from 49152), above the known services. */
const [from, to] = [10_000, 30_000]

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(from, to)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true))
    })
    if (!isFree) continue
    server.close()
    await once(server, "close")
    return port
  }
}
