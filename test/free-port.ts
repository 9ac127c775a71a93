// A port for a service that is to be told one before it listens. Not one that the system chooses: it gives those to every
// listener and to every connection that asks for none, and so perhaps to another process before the service listens.
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"

/** Below those that systems choose by themselves (Linux: from 32768, others: from 49152), above the known services. */
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
