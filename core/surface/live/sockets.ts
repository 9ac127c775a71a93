// The sockets of live updates as every part of the room sees them.
import type { DefaultEventsMap, Server, Socket } from "socket.io"
import type { Guest } from "./admission.ts"
import type { WireMessage } from "./messages.ts"

interface ServerEvents {
  message: (message: WireMessage) => void
  /** An id: what was committed with a lower one before has been sent. */
  position: (id: string) => void
}
/** Of nodes to each other. */
interface NodeEvents {
  /** The message as JSON. */
  elsewhere_json: (room: string, message: string) => void
}
export interface SocketData {
  guest: Guest
  /** Count of credential changes known when the handshake was looked at. */
  seen: number
}
export type LiveServer = Server<DefaultEventsMap, ServerEvents, NodeEvents, SocketData>
export type LiveSocket = Socket<DefaultEventsMap, ServerEvents, NodeEvents, SocketData>
