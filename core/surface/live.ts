// Live updates over socket.io at `/live`: sockets are admitted by token or endpoint, join rooms that carry their
// organization, and get messages once these are committed. Revoked and expired credentials lose their sockets.
import type { Server as HttpServer } from "node:http"
import { Gauge, type Registry } from "prom-client"
import { type DefaultEventsMap, Server, type ServerOptions, type Socket } from "socket.io"
import type { Authenticator } from "../contract/caller.ts"
import type { Channel, Live, LiveMessage } from "../contract/channel.ts"
import { type Coherence, everyKey } from "../contract/coherence.ts"
import type { Store } from "../contract/store.ts"
import type { Works } from "../contract/work.ts"
import type { AddressedRequest } from "../kernel/client-address.ts"
import type { Clock } from "../kernel/clock.ts"
import { AppError, asAppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import type { Logger } from "../kernel/log.ts"
import type { AddressLimits } from "./call/address-limits.ts"
import type { LiveDoor } from "./http/server.ts"
import { admit, authenticate, type EndpointOwner, type Guest } from "./live/admission.ts"
import { AnonymousSockets } from "./live/anonymous-sockets.ts"
import { createFeed } from "./live/feed.ts"
import { type LiveMessageDocument, socketRoom, type WireMessage, wireMessage } from "./live/messages.ts"
import { Outbox } from "./live/outbox.ts"
import { type Peer, Subscriptions } from "./live/subscriptions.ts"
import { Trimmer } from "./live/trim.ts"

export interface LiveRoomDeps {
  readonly store: Store
  readonly works: Works
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly metrics: Registry
  readonly authenticator: Authenticator
  readonly coherence: Coherence
  /** Channels that plugins have declared. */
  readonly channels: readonly Channel[]
  readonly keepMs: number
  readonly keepMessages: number
  readonly ownerOfEndpoint: (endpointId: string) => Promise<EndpointOwner | undefined>
  /** Coherence topic announced, with the owner's `pipeline` as key, when an endpoint may have become another one's or nobody's. */
  readonly endpointsTopic: string
  /** Anonymous sockets that one address may hold at once. */
  readonly anonymousPerAddress: number
  readonly addresses?: AddressLimits
  readonly addressOf: (request: AddressedRequest) => string
  /** Carries messages between nodes; this process alone when absent. */
  readonly adapter?: (() => NonNullable<ServerOptions["adapter"]>) | undefined
}

/** Coherence topic announced when a key or token is revoked or changed, with its id or the public id in its text as key. */
export const credentialsTopic = "credentials"

interface ServerEvents {
  message: (message: WireMessage) => void
}
interface SocketData {
  guest: Guest
  /** Count of credential changes known when the handshake was looked at. */
  seen: number
}
type LiveServer = Server<DefaultEventsMap, ServerEvents, DefaultEventsMap, SocketData>
type LiveSocket = Socket<DefaultEventsMap, ServerEvents, DefaultEventsMap, SocketData>

export interface LiveRoom {
  readonly live: Live
  readonly door: LiveDoor
  start(): void
  /** Disconnects the sockets whose credential has run out. Called by the timer. */
  recheck(): Promise<void>
  stop(): Promise<void>
}

const recheckMs = 30_000
const maxChanges = 10_000

export function createLiveRoom(deps: LiveRoomDeps): LiveRoom {
  let closing = false
  const io: LiveServer = new Server({
    path: "/live",
    serveClient: false,
    cors: { origin: "*" },
    maxHttpBufferSize: 65_536,
    connectTimeout: 10_000,
    allowRequest: (_request, answer) => answer(closing ? "the service is stopping" : null, !closing),
  })
  const deliver = delivery(io)
  const node = deps.ids.uuid()
  const outbox = new Outbox({ ...deps, node, deliver })
  const trimmer = new Trimmer({ ...deps, keep: deps.keepMessages })
  const changes = watchCredentials(deps, io)
  const anonymous = new AnonymousSockets(deps.anonymousPerAddress)
  watchEndpoints(deps, io)
  let cancelRecheck = () => {}

  io.use((socket, next) => {
    const seen = changes.count()
    const address = deps.addressOf(socket.request)
    admit(deps, socket.handshake.auth, address)
      .then((guest) => {
        if (guest.kind === "viewer") leavesWith(socket, anonymous.enter(address))
        socket.data.guest = guest
        socket.data.seen = seen
        next()
      })
      .catch((cause: unknown) => next(refusal(cause, deps.log)))
  })
  io.on("connection", (socket) => {
    if (changes.since(socket.data.seen, socket.data.guest)) return void socket.disconnect(true)
    serve(deps, socket)
  })
  new Gauge({
    name: "millrace_live_sockets",
    help: "Sockets connected to this process.",
    registers: [deps.metrics],
    collect() {
      this.set(io.of("/").sockets.size)
    },
  })

  const recheckLater = () => {
    cancelRecheck = deps.clock.after(recheckMs, () => {
      recheck(deps, io)
        .catch((err: unknown) => deps.log.warn({ err }, "open sockets could not be checked again"))
        .finally(() => {
          if (!closing) recheckLater()
        })
    })
  }
  return {
    live: createFeed({ ...deps, node, outbox, trimmer, deliver, heard: audience(io) }),
    door: {
      attach: (server: HttpServer) => void io.attach(server),
      async close() {
        closing = true
        cancelRecheck()
        io.local.disconnectSockets(true)
        io.engine?.close()
      },
    },
    recheck: () => recheck(deps, io),
    start() {
      if (deps.adapter) io.adapter(deps.adapter())
      outbox.start()
      recheckLater()
    },
    async stop() {
      closing = true
      cancelRecheck()
      await trimmer.idle()
      await outbox.stop()
      await io.of("/").adapter.close()
    },
  }
}

/** Nothing is written for other nodes while there are none, nor looked at where nobody here listens. */
function delivery(io: LiveServer): (organization: string, message: LiveMessageDocument) => void {
  return (organization, message) => {
    const endpoint = message.room.startsWith("p:") ? message.room.slice(2, -message.channel.length - 1) : undefined
    const room = socketRoom(organization, message.channel, endpoint)
    const { adapter } = io.of("/")
    if (othersOf(adapter) > 0) io.to(room).emit("message", wireMessage(message))
    else if (adapter.rooms.has(room)) io.local.to(room).emit("message", wireMessage(message))
  }
}

/** Whether anyone may be listening: on this node, or on others, whose rooms it does not know. */
function audience(io: LiveServer): (organization: string, message: LiveMessage) => boolean {
  return (organization, message) => {
    const { adapter } = io.of("/")
    return othersOf(adapter) > 0 || adapter.rooms.has(socketRoom(organization, message.channel, message.publicEndpoint))
  }
}

function othersOf(adapter: object): number {
  return (adapter as { nodesMap?: ReadonlyMap<string, number> }).nodesMap?.size ?? 0
}

function serve(deps: LiveRoomDeps, socket: LiveSocket): void {
  const peer: Peer = {
    guest: socket.data.guest,
    get connected() {
      return socket.connected
    },
    rooms: socket.rooms,
    join: (room) => socket.join(room),
    leave: (room) => socket.leave(room),
    send: (message) => void socket.emit("message", message),
  }
  const subscriptions = new Subscriptions(deps, peer)
  const answer = (respond: unknown, acknowledgement: unknown) => {
    if (typeof respond === "function") respond(acknowledgement)
  }
  socket.on("subscribe", async (request: unknown, respond: unknown) => answer(respond, await subscriptions.subscribe(request)))
  socket.on("unsubscribe", async (request: unknown, respond: unknown) => answer(respond, await subscriptions.unsubscribe(request)))
}

/** Disconnects the sockets of a credential that changed, also one whose handshake was under way at that moment. */
function watchCredentials(deps: LiveRoomDeps, io: LiveServer) {
  const changed = new Map<string, number>()
  let count = 0
  deps.coherence.onChange(credentialsTopic, async (key) => {
    changed.delete(key)
    changed.set(key, ++count)
    for (const oldest of changed.keys()) {
      if (changed.size <= maxChanges) break
      changed.delete(oldest)
    }
    if (key === everyKey) return await recheck(deps, io)
    for (const socket of io.of("/").sockets.values()) {
      if (namesOf(socket.data.guest).includes(key)) socket.disconnect(true)
    }
  })
  return {
    count: () => count,
    since: (seen: number, guest: Guest) => [everyKey, ...namesOf(guest)].some((name) => (changed.get(name) ?? 0) > seen),
  }
}

/** A connection may be lost before its socket counts as connected, and then no "disconnect" comes. */
function leavesWith(socket: LiveSocket, leave: () => void): void {
  socket.once("disconnect", leave)
  socket.conn.once("close", leave)
  if (socket.conn.readyState === "closed") leave()
}

/** Disconnects the anonymous sockets of an endpoint whose pipeline is no longer active. */
function watchEndpoints(deps: LiveRoomDeps, io: LiveServer): void {
  deps.coherence.onChange(deps.endpointsTopic, (key) => recheckViewers(deps, io, (guest) => key === everyKey || guest.pipeline === key))
}

type Viewer = Extract<Guest, { kind: "viewer" }>

async function recheckViewers(deps: LiveRoomDeps, io: LiveServer, concerns: (guest: Viewer) => boolean): Promise<void> {
  const viewers = [...io.of("/").sockets.values()].flatMap((socket) => {
    const { guest } = socket.data
    return guest.kind === "viewer" && concerns(guest) ? [{ socket, guest }] : []
  })
  for (const [endpoint, sockets] of Map.groupBy(viewers, ({ guest }) => guest.endpoint)) {
    const owner = await deps.ownerOfEndpoint(endpoint)
    for (const { socket, guest } of sockets) if (owner?.organization !== guest.organization) socket.disconnect(true)
  }
}

/** What a change may call this guest's credential: its id, or the public id that is part of its text. */
function namesOf(guest: Guest): string[] {
  return guest.kind === "caller" ? [guest.caller.credential.id, ...guest.bearer.split("_")] : []
}

/** Authenticates each credential in use once more; what has run out, or may no longer subscribe, is disconnected. */
async function recheck(deps: LiveRoomDeps, io: LiveServer): Promise<void> {
  await recheckViewers(deps, io, () => true)
  const groups = new Map<string, LiveSocket[]>()
  for (const socket of io.of("/").sockets.values()) {
    const { guest } = socket.data
    if (guest.kind !== "caller") continue
    const key = JSON.stringify([guest.bearer, guest.selected])
    groups.set(key, [...(groups.get(key) ?? []), socket])
  }
  for (const sockets of groups.values()) {
    const guest = sockets[0]?.data.guest
    if (guest?.kind !== "caller") continue
    try {
      const now = await authenticate(deps, guest.bearer, guest.selected)
      if (now.role === guest.caller.role) continue
    } catch (error) {
      const gone = error instanceof AppError && ["unauthenticated", "permission_denied", "not_found"].includes(error.code)
      if (!gone) continue
    }
    for (const socket of sockets) socket.disconnect(true)
  }
}

function refusal(cause: unknown, log: Logger): Error {
  const error = asAppError(cause)
  if (error.status >= 500) log.error({ err: error.cause ?? error }, "live handshake failed")
  return Object.assign(new Error(error.message), { data: error.toBody() })
}
