// Sockets that close while a command is being written. The driver (7.9) waits for "drain" when a socket does not accept a
// command as a whole; a closed socket never drains, so that the command, and all that waits for it, would hang. So a
// socket that closes emits "drain", and the driver then finds its connection closed.
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
