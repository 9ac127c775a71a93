// Sockets on several workers of one machine. The system hands each connection to any worker, and a session by polling
// takes many connections: the session's id says which worker holds it, and the others pass its requests on, through a
// door in the file system that only this service's user can open.
import { randomBytes } from "node:crypto"
import { request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { connect, createServer, type Server as NetServer } from "node:net"
import type { Duplex } from "node:stream"
import type { LiveRelay } from "../../contract/live-relay.ts"

/** Where the workers of this machine take requests that belong to their sockets. */
export interface Doors {
  /** This worker among the others, from 0. */
  readonly slot: number
  /** A path in the file system. */
  doorOf(slot: number): string
}

/** What is needed of socket.io's server. */
interface Rooms {
  of(name: "/"): { readonly adapter: { on(event: "create-room" | "delete-room", run: (room: string) => void): unknown } }
  readonly local: { to(room: string): { emit(event: "message", message: never): unknown }; disconnectSockets(close: boolean): void }
}

export function sessionId(slot: number): string {
  return `w${slot}-${randomBytes(15).toString("base64url")}`
}

const sessionPattern = /[?&]sid=w(\d{1,4})-/

/** Rooms of channels; each socket is also in one of its own. */
const channelRoom = /^(org|public):/

/** Hands what other workers send to the sockets here, and tells the others which rooms these are in. */
export async function joinOthers(io: Rooms, relay: LiveRelay): Promise<void> {
  const { adapter } = io.of("/")
  // A failure is met again, and reported, by the subscription that waits for it.
  adapter.on("create-room", (room) => void (channelRoom.test(room) && relay.entered(room).catch(() => undefined)))
  adapter.on("delete-room", (room) => void (channelRoom.test(room) && relay.left(room)))
  relay.onMessage((room, message) => io.local.to(room).emit("message", message as never))
  relay.onLost(() => io.local.disconnectSockets(true))
  await relay.start()
}

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void
type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** To be called once socket.io is attached. Returns what closes the door. */
export function passOnForeign(server: Server, doors: Doors): () => void {
  const requests = server.listeners("request") as RequestListener[]
  const upgrades = server.listeners("upgrade") as UpgradeListener[]
  server.removeAllListeners("request")
  server.removeAllListeners("upgrade")
  server.on("request", (request, response) => {
    const handleHere = () => {
      for (const listener of requests) listener.call(server, request, response)
    }
    const slot = foreignSlot(request, doors)
    if (slot === undefined) handleHere()
    else passRequest(request, response, doors.doorOf(slot), handleHere)
  })
  server.on("upgrade", (request, socket: Duplex, head: Buffer) => {
    const slot = foreignSlot(request, doors)
    if (slot === undefined) for (const listener of upgrades) listener.call(server, request, socket, head)
    else passUpgrade(request, socket, head, doors.doorOf(slot))
  })
  const door: NetServer = createServer((socket) => server.emit("connection", socket))
  door.listen(doors.doorOf(doors.slot))
  door.unref()
  return () => door.close()
}

function foreignSlot({ url = "" }: IncomingMessage, doors: Doors): number | undefined {
  if (!url.startsWith("/live/")) return undefined
  const slot = sessionPattern.exec(url)?.[1]
  return slot === undefined || Number(slot) === doors.slot ? undefined : Number(slot)
}

/** A worker that is gone has taken the session along: then this one says that it knows none such. */
function passRequest(request: IncomingMessage, response: ServerResponse, door: string, handleHere: () => void): void {
  const passed = httpRequest({ socketPath: door, method: request.method, path: request.url, headers: request.headers })
  let connected = false
  passed.once("socket", (socket) => {
    socket.once("connect", () => {
      connected = true
      request.pipe(passed)
    })
  })
  passed.once("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  passed.on("error", () => {
    if (!connected) handleHere()
    else response.destroy()
  })
  response.once("close", () => passed.destroy())
}

function passUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, door: string): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`]
  for (let at = 0; at < request.rawHeaders.length; at += 2) lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`)
  const passed = connect(door, () => {
    passed.write(`${lines.join("\r\n")}\r\n\r\n`)
    passed.write(head)
    socket.pipe(passed)
    passed.pipe(socket)
  })
  passed.on("error", () => socket.destroy())
  socket.on("error", () => passed.destroy())
  passed.on("close", () => socket.destroy())
  socket.on("close", () => passed.destroy())
}
