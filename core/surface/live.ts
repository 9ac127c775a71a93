// Live updates over socket.io at `/live`. Sockets are admitted by token or endpoint and join rooms of their organization. They
// receive messages after the commit. Revoked and expired credentials disconnect their sockets.
import type { Server as HttpServer } from "node:http"
import { Gauge, type Registry } from "prom-client"
import { Server, type ServerOptions } from "socket.io"
import type { Authenticator } from "../contract/caller.ts"
import type { Channel, Live, ViewerTokens } from "../contract/channel.ts"
import type { CacheInvalidation, ClockCorrections } from "../contract/cluster.ts"
import type { Pauses } from "../contract/pauses.ts"
import type { RateLimiter } from "../contract/rate-limiter.ts"
import type { Store } from "../contract/store.ts"
import type { UnitsOfWork } from "../contract/unit-of-work.ts"
import type { AddressedRequest } from "../kernel/client-address.ts"
import type { Clock } from "../kernel/clock.ts"
import { asAppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import type { Logger } from "../kernel/log.ts"
import type { AddressLimits } from "./call/address-limits.ts"
import type { RateLimits } from "./call/rate-limit.ts"
import { requireSameOrigin, sessionOf } from "./http/credentials.ts"
import type { LiveUpgrade } from "./http/server.ts"
import { admit, type EndpointOwner } from "./live/admission.ts"
import { createDelivery, type LiveServer, type LiveSocket } from "./live/delivery.ts"
import { createFeed } from "./live/feed.ts"
import type { LiveMessageDocument } from "./live/messages.ts"
import { Outbox } from "./live/outbox.ts"
import { RequestLimits } from "./live/request-limits.ts"
import { organizationOf, recheck, watchCredentials, watchEndpoints, watchPauses } from "./live/revocation.ts"
import { SocketLimits } from "./live/socket-limits.ts"
import { passOnForeign, type StickyWorker, sessionId } from "./live/sticky-sessions.ts"
import { type Peer, Subscriptions } from "./live/subscriptions.ts"
import { Trimmer } from "./live/trim.ts"

export interface LiveSocketsDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly metrics: Registry
  readonly authenticator: Authenticator
  readonly invalidation: CacheInvalidation
  /** Channels declared by plugins. */
  readonly channels: readonly Channel[]
  readonly keepMs: number
  readonly keepMessages: number
  readonly corrections?: ClockCorrections
  readonly ownerOfEndpoint: (endpointId: string) => Promise<EndpointOwner | undefined>
  readonly viewerTokens?: (() => ViewerTokens | undefined) | undefined
  /** Invalidation topic, with the owner's `pipeline` as key. Announces a possible change or loss of an endpoint's owner. */
  readonly endpointsTopic: string
  /** Maximum of anonymous sockets from one address. */
  readonly anonymousPerAddress: number
  /** Maximum of sockets with one credential. */
  readonly socketsPerKey: number
  /** Allowed origins of the polling transport. A WebSocket is not checked and sends no cookie. */
  readonly corsOrigins: readonly string[]
  /** Organizations without live connections. */
  readonly pauses: Pauses
  readonly rateLimiter: RateLimiter
  /** Limits of calls. Connections and requests of sockets count as calls. */
  readonly rateLimits: RateLimits
  readonly addresses?: AddressLimits
  readonly addressOf: (request: AddressedRequest) => string
  /** Name of the session's cookie. */
  readonly sessionCookie: string
  /** Delivers messages between nodes. Without an adapter, messages stay in this process. */
  readonly adapter?: (() => NonNullable<ServerOptions["adapter"]>) | undefined
  /** Set if this process is one of several workers on a shared port. */
  readonly worker?: StickyWorker | undefined
  /** Receives each new committed message, in addition to subscribers. */
  readonly onBroadcast?: ((organization: string, message: LiveMessageDocument) => void) | undefined
}

export interface LiveSockets {
  readonly live: Live
  readonly upgrade: LiveUpgrade
  start(): Promise<void>
  /** Disconnects sockets with expired credentials, and sends other sockets their position. The timer calls this. */
  recheck(): Promise<void>
  stop(): Promise<void>
}

const recheckMs = 30_000
const path = "/live"

export function createLiveSockets(deps: LiveSocketsDeps): LiveSockets {
  let closing = false
  const io: LiveServer = new Server({
    path,
    serveClient: false,
    cors: { origin: deps.corsOrigins.includes("*") ? "*" : [...deps.corsOrigins] },
    maxHttpBufferSize: 65_536,
    connectTimeout: 10_000,
    allowRequest: (_request, answer) => answer(closing ? "the service is stopping" : null, !closing),
  })
  const { deliver, hasSubscribers, tellPosition } = createDelivery(io, deps.channels)
  const node = deps.ids.uuid()
  const outbox = new Outbox({ ...deps, node, deliver })
  const trimmer = new Trimmer({ ...deps, keep: deps.keepMessages })
  const changes = watchCredentials(deps, io)
  const limits = new SocketLimits({ rateLimiter: deps.rateLimiter, perAddress: deps.anonymousPerAddress, perKey: deps.socketsPerKey })
  const requests = new RequestLimits(deps)
  watchEndpoints(deps, io)
  watchPauses(deps, io)
  let cancelRecheck = () => {}
  let closeSocketServer = () => {}

  io.use((socket, next) => {
    const seen = changes.count()
    const address = deps.addressOf(socket.request)
    handshakeOf(socket, deps.sessionCookie)
      .then((auth) => requests.handshake(auth, address, () => admit(deps, auth, address)))
      .then(async (guest) => {
        if (guest.kind === "caller") await requests.count(guest, address)
        leavesWith(socket, await limits.enter(guest, address))
        socket.data.guest = guest
        socket.data.seen = seen
        next()
      })
      .catch((cause: unknown) => next(refusal(cause, deps.log)))
  })
  io.on("connection", (socket) => {
    const { guest, seen } = socket.data
    if (changes.since(seen, guest) || deps.pauses.has(organizationOf(guest))) return void socket.disconnect(true)
    endsWithCredential(deps, socket)
    serve(deps, requests, socket)
  })
  new Gauge({
    name: "millrace_live_sockets",
    help: "Sockets connected to this process.",
    registers: [deps.metrics],
    collect() {
      this.set(io.of("/").sockets.size)
    },
  })

  const recheckAll = async () => {
    // Recent commits of other nodes may still be in transit.
    tellPosition(deps.clock.now() - recheckMs)
    await recheck(deps, io)
  }
  const recheckLater = () => {
    cancelRecheck = deps.clock.after(recheckMs, () => {
      recheckAll()
        .catch((err: unknown) => deps.log.warn({ err }, "open sockets could not be rechecked"))
        .finally(() => {
          if (!closing) recheckLater()
        })
    })
  }
  return {
    live: createFeed({ ...deps, node, outbox, trimmer, deliver, hasSubscribers }),
    upgrade: {
      path: `${path}/`,
      attach(server: HttpServer) {
        io.attach(server)
        const { worker } = deps
        if (!worker) return
        io.engine.generateId = () => sessionId(worker)
        closeSocketServer = passOnForeign(server, worker)
      },
      async close() {
        closing = true
        cancelRecheck()
        io.local.disconnectSockets(true)
        io.engine?.close()
        closeSocketServer()
      },
    },
    recheck: recheckAll,
    async start() {
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

/** Maximum of refused requests in a row. After it a socket is disconnected. */
const maxRefused = 100

function serve(deps: LiveSocketsDeps, requests: RequestLimits, socket: LiveSocket): void {
  const peer: Peer = {
    guest: socket.data.guest,
    get connected() {
      return socket.connected
    },
    join: (rooms) => socket.join(rooms),
    leave: (room) => socket.leave(room),
    send: (message) => void socket.emit("message", message),
  }
  countPackets(deps, requests, socket)
  const subscriptions = new Subscriptions({ ...deps, requests }, peer)
  const answer = (event: "subscribe" | "unsubscribe") => {
    socket.on(event, (...given: unknown[]) => {
      const [request, respond] = [given[0], given.at(-1)]
      // Without a payload, the first argument is the acknowledgement.
      subscriptions[event](typeof request === "function" ? undefined : request)
        .then((acknowledgement) => {
          if (typeof respond === "function") respond(acknowledgement)
        })
        .catch((error: unknown) => {
          deps.log.error({ err: error, event }, "a live session failed and is disconnected")
          socket.disconnect(true)
        })
    })
  }
  answer("subscribe")
  answer("unsubscribe")
}

/** Counts each packet of a socket before it is read. A request over the limit is acknowledged with the refusal. */
function countPackets({ addressOf }: LiveSocketsDeps, requests: RequestLimits, socket: LiveSocket): void {
  const address = addressOf(socket.request)
  let refused = 0
  socket.use((packet, next) => {
    requests.count(socket.data.guest, address).then(
      () => {
        refused = 0
        next()
      },
      (cause: unknown) => {
        const respond: unknown = packet.at(-1)
        if (typeof respond === "function") respond(asAppError(cause).toBody())
        if (++refused > maxRefused) socket.disconnect(true)
      },
    )
  })
}

/** Maximum delay of a timer. The recheck of sockets finds later expiries. */
const maxTimerMs = 2 ** 31 - 1

function endsWithCredential({ clock }: LiveSocketsDeps, socket: LiveSocket): void {
  const { guest } = socket.data
  const expiresAt = guest.kind === "caller" ? guest.caller.credential.expires_at : undefined
  const leftMs = expiresAt ? Date.parse(expiresAt) - clock.now() : Number.POSITIVE_INFINITY
  if (leftMs <= maxTimerMs)
    socket.once(
      "disconnect",
      clock.after(Math.max(0, leftMs), () => socket.disconnect(true)),
    )
}

/** A connection may close before its socket counts as connected. It then has no "disconnect" event. */
function leavesWith(socket: LiveSocket, leave: () => void): void {
  socket.once("disconnect", leave)
  socket.conn.once("close", leave)
  if (socket.conn.readyState === "closed") leave()
}

function refusal(cause: unknown, log: Logger): Error {
  const error = asAppError(cause)
  if (error.status >= 500) log.error({ err: error.cause ?? error }, "live handshake failed")
  return Object.assign(new Error(error.message), { data: error.toBody() })
}

/** Returns the credentials of the handshake, or the session cookie of a signed-in browser. */
async function handshakeOf({ handshake, request }: LiveSocket, cookie: string): Promise<Readonly<Record<string, unknown>>> {
  const { token, endpoint_id } = handshake.auth as Readonly<Record<string, unknown>>
  const session = token === undefined && endpoint_id === undefined ? sessionOf(request, cookie) : undefined
  if (session === undefined) return handshake.auth
  requireSameOrigin(request)
  return { ...handshake.auth, token: session }
}
