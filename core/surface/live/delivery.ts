// Hands a message to the sockets that subscribe to it: to those of this node at once, and to other nodes, each of which looks
// who is there. A node encodes a message once, for any number of subscriptions and filters, and not at all where there are none.

import type { DefaultEventsMap, Server, Socket } from "socket.io"
import { type Channel, coversChannel, type Live } from "../../contract/channel.ts"
import { idAt } from "../../kernel/ids.ts"
import type { Guest } from "./admission.ts"
import { anyFilterRoom, filterRooms, socketRoom, type WireMessage, wireMessage } from "./messages.ts"
import type { Deliver } from "./outbox.ts"

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
interface SocketData {
  guest: Guest
  /** Count of credential changes known when the handshake was looked at. */
  seen: number
}
/** The sockets of live updates as every part of the room sees them. */
export type LiveServer = Server<DefaultEventsMap, ServerEvents, NodeEvents, SocketData>
export type LiveSocket = Socket<DefaultEventsMap, ServerEvents, NodeEvents, SocketData>

/** Sockets that keep a position, to go on from it when their connection was lost. */
export const positionsRoom = "positions"

export interface Delivery {
  readonly deliver: Deliver
  readonly hasSubscribers: Live["hasSubscribers"]
  /** Tells the sockets that keep a position that they have been sent what was committed before then, Unix milliseconds. */
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
      // As text: the adapter's database has field names and values of its own.
      if (others > 0) io.serverSideEmit("elsewhere_json", room, JSON.stringify(message))
    },
    hasSubscribers(organization, { channel, publicEndpoint }) {
      const room = socketRoom(organization, channel, publicEndpoint)
      // Who subscribes on other nodes is not known here.
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
