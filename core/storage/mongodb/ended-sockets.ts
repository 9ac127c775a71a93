// Sockets that ended under a command. The driver (7.9) waits for the "drain" of a socket that does not take a command
// whole; one that has ended takes nothing and never drains, and where that is not an error the command, and all that
// waits for it, would wait for ever. So a socket that closes emits its drain; the driver then finds
// that its connection is closed.
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import type { MongoClient } from "mongodb"

/** Of every socket, TLS or not, that this process opens to somebody. */
const channel = "net.client.socket"

/** For the client's connections from now on; to be called before it connects. Returns what ends it. */
export function wakeOnClose(client: MongoClient): () => void {
  const ports = new Set<number>()
  client.on("serverOpening", ({ address }) => void ports.add(Number(address.slice(address.lastIndexOf(":") + 1))))
  const watch = (message: unknown) => {
    const { socket } = message as { socket: Socket }
    socket.once("connect", () => {
      if (ports.has(Number(socket.remotePort))) socket.once("close", () => void socket.emit("drain"))
    })
  }
  subscribe(channel, watch)
  return () => unsubscribe(channel, watch)
}
