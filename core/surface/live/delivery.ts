// Sends a message to its subscribers: directly to sockets of this node, and to other nodes for their sockets. A node encodes a
// message once for all subscriptions and filters, and skips it without subscribers.

import type { DefaultEventsMap, Server, Socket } from "socket.io"
import { type Channel, coversChannel, type Live } from "../../contract/channel.ts"
import { idAt } from "../../kernel/ids.ts"
import type { Guest } from "./admission.ts"
import { anyFilterRoom, filterRooms, socketRoom, type WireMessage, wireMessage } from "./messages.ts"
import type { Deliver } from "./outbox.ts"

interface ServerEvents {
  message: (message: WireMessage) => void
  /** An id. All messages committed earlier with lower ids were sent. */
  position: (id: string) => void
}
/** Events between nodes. */
interface NodeEvents {
  /** The message as JSON. */
  elsewhere_json: (room: string, message: string) => void
}
interface SocketData {
  guest: Guest
  /** Number of credential changes known at the handshake. */
  seen: number
}
/** The sockets of live updates, with the types of their events and data. */
export type LiveServer = Server<DefaultEventsMap, ServerEvents, NodeEvents, SocketData>
export type LiveSocket = Socket<DefaultEventsMap, ServerEvents, NodeEvents, SocketData>

/** Sockets with a position for resuming after a lost connection. */
export const positionsRoom = "positions"

export interface Delivery {
  readonly deliver: Deliver
  readonly hasSubscribers: Live["hasSubscribers"]
  /** Sends a position to sockets with positions: all messages before this time were sent. Unix milliseconds. */
  tellPosition(ms: number): void
}

export function createDelivery(io: LiveServer, channels: readonly Channel[]): Delivery {
  const filtersOf = ({ channel }: WireMessage) => Object.keys(channels.find(({ name }) => coversChannel(name, channel))?.filters ?? {})
  const hasHere = (room: string) => io.of("/").adapter.rooms.has(room)

  const deliverHere = (room: string, message: WireMessage) => {
    const rooms = hasHere(anyFilterRoom(room)) ? filterRooms(room, filtersOf(message), message.data) : [room]
    const joined = rooms.filter(hasHere)
    if (joined.length > 0) io.local.to(joined).emit("message", message)
  }
  io.on("elsewhere_json", (room, text) => deliverHere(room, JSON.parse(text) as WireMessage))

  return {
    deliver(organization, document, silentSince) {
      const { room: filed, channel } = document
      const endpoint = filed.startsWith("p:") ? filed.slice(2, -channel.length - 1) : undefined
      const room = socketRoom(organization, channel, endpoint)
      const others = othersOf(io)
      if (others === 0 && !hasHere(room) && !hasHere(anyFilterRoom(room))) return
      const message = wireMessage(document, silentSince)
      deliverHere(room, message)
      // Sent as text: the adapter's database restricts field names and values.
      if (others > 0) io.serverSideEmit("elsewhere_json", room, JSON.stringify(message))
    },
    hasSubscribers(organization, { channel, publicEndpoint }) {
      const room = socketRoom(organization, channel, publicEndpoint)
      // Subscribers on other nodes are unknown here.
      return othersOf(io) > 0 || hasHere(room) || hasHere(anyFilterRoom(room))
    },
    tellPosition(ms) {
      if (hasHere(positionsRoom)) io.local.to(positionsRoom).emit("position", idAt(ms))
    },
  }
}

function othersOf(io: LiveServer): number {
  return (io.of("/").adapter as { nodesMap?: ReadonlyMap<string, number> }).nodesMap?.size ?? 0
}
