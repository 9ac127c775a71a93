// Live updates for pages and programs. Subscriptions survive lost connections. Each remembers the newest delivered id and the ids
// that may come again. The service resends newer messages and some older ones. Messages delivered before are dropped
// (docs/architecture.md, Live). Uses socket.io's client.
import { io } from "socket.io-client"
import type { ErrorBody } from "../kernel/errors.ts"
import { ClientError } from "./error.ts"
import { endCatching, type Held, handInOrder, keyOf, passes } from "./held-subscription.ts"
import type { Live, LiveFilter, LiveMessage, LiveOptions } from "./live-types.ts"
import { newPosition } from "./position.ts"

interface Failing {
  emit(event: "error", error: Error): void
}

type Acknowledgement = { ok: true; truncated?: true; from?: string[] } | ErrorBody

/** A message as sent by the service. */
interface SentMessage extends LiveMessage {
  /** The filter of the single subscription that missed this message. Set only for a missed message. */
  readonly missed_by?: LiveFilter
}

/** In characters. The service reads at most 64 KiB of a socket at once and closes the connection beyond this, without an answer. */
const maxSent = 16_000
const acknowledgedMs = 15_000
/** A retry cannot help. */
const final = /^(invalid_argument|unauthenticated|permission_denied|not_found|failed_precondition)$/

/** Opens a connection for live updates. */
export function connectLive<Channels extends object = Record<string, unknown>>(options: LiveOptions): Live<Channels> {
  const { url, token, organization, endpointId: endpoint_id, reconnectMs = 250, onState = () => {} } = options
  const { origin, pathname } = new URL(url)
  const held = new Map<string, Held>()
  let closed = false
  /** Connections in a row without admission. */
  let refused = 0
  let turn = Promise.resolve()
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const socket = io(origin, {
    path: `${pathname.replace(/\/+$/, "")}/live`,
    forceNew: true,
    transports: ["websocket", "polling"],
    tryAllTransports: true,
    reconnectionDelay: reconnectMs,
    reconnectionDelayMax: 10_000,
    auth: (giveAny: (auth: object) => void) => {
      const give = (auth: object) => {
        const problem = tooLong("token, organization and endpointId", auth)
        if (problem) endAll(problem)
        else giveAny(auth)
      }
      if (endpoint_id !== undefined && token === undefined) return give({ endpoint_id })
      const { engine } = socket.io
      const tokenNow = async () => (typeof token === "function" ? await token() : token)
      tokenNow().then(
        (text) => {
          // Too late for its connection. The next connection requests its own token.
          if (engine === socket.io.engine) give(endpoint_id === undefined ? { token: text, organization } : { token: text, endpoint_id })
        },
        (error: unknown) => {
          if (error instanceof ClientError && final.test(error.code)) return endAll(error)
          if (closed || engine !== socket.io.engine) return
          socket.disconnect()
          dialLater()
        },
      )
    },
  })

  /** A connection cut while it opens closes without an error. Socket.io's client would wait for its timeout. */
  const watch = () => {
    const { engine } = socket.io
    let opened = false
    engine.once("open", () => {
      opened = true
    })
    engine.once("close", () => {
      if (!opened && !closed) (engine as unknown as Failing).emit("error", new Error("The connection was cut while it opened."))
    })
  }
  const dial = () => {
    socket.connect()
    watch()
  }
  watch()
  socket.io.on("reconnect_attempt", () => queueMicrotask(watch))

  const later = (run: () => void, ms = 2 * reconnectMs) => {
    if (closed) return
    const timer = setTimeout(
      () => {
        timers.delete(timer)
        if (!closed) run()
      },
      ms * (1 + Math.random()),
    )
    timers.add(timer)
  }
  const dialLater = () => later(dial, Math.min(reconnectMs * 2 ** ++refused, 5_000))
  const end = (one: Held, error: ClientError) => {
    if (held.get(one.key) === one) held.delete(one.key)
    one.refuse(error)
    one.options.onError?.(error)
  }
  const endAll = (error: ClientError) => {
    for (const one of [...held.values()]) end(one, error)
    close()
  }
  const close = () => {
    if (closed) return
    closed = true
    for (const timer of timers) clearTimeout(timer)
    socket.disconnect()
    onState("closed")
  }

  /** Returns undefined if the answer was lost. */
  async function answerTo(request: "subscribe" | "unsubscribe", input: object): Promise<Acknowledgement | undefined> {
    const connection = socket.id
    try {
      return (await socket.timeout(acknowledgedMs).emitWithAck(request, input)) as Acknowledgement
    } catch {
      // Closes an open connection that does not answer.
      if (socket.connected && socket.id === connection) {
        socket.disconnect()
        dial()
      }
      return undefined
    }
  }

  async function ask(one: Held): Promise<void> {
    const { key, of, position, options: own } = one
    const connection = socket.id
    if (!socket.connected || one.asked === connection || held.get(key) !== one) return
    one.asked = connection
    one.catching = []
    const after = position.ask()
    const request = after === undefined ? { ...of, resumable: true } : { ...of, after }
    const problem = tooLong("channel, filter and position", request)
    if (problem) return end(one, problem)
    const answer = await answerTo("subscribe", request)
    const caught = endCatching(one)
    // After a lost answer, a new connection subscribes again and receives the skipped messages. After a close they are not
    // needed.
    if (!answer || held.get(key) !== one) return
    if ("code" in answer) {
      if (final.test(answer.code)) return end(one, errorOf(answer))
      return later(() => {
        if (one.asked === connection) one.asked = undefined
        queue(() => ask(one))
      })
    }
    position.start(answer.from ?? [])
    handInOrder(one, caught)
    if (answer.truncated) own.onGap?.()
    one.ready()
  }
  async function leave({ of, asked }: Held): Promise<void> {
    if (socket.connected && asked === socket.id) await answerTo("unsubscribe", of)
  }
  /** Sends one request at a time, since the service queues few per socket. In order, since a channel may be left and joined again. */
  const queue = (request: () => Promise<void>) => {
    // An error of a handler becomes an uncaught exception, and the next request proceeds.
    turn = turn.then(request).catch((error: unknown) => {
      setTimeout(() => {
        throw error
      })
    })
  }

  socket.on("connect", () => {
    refused = 0
    onState("connected")
    for (const one of held.values()) queue(() => ask(one))
  })
  socket.on("disconnect", (reason) => {
    if (closed) return
    onState("connecting")
    // The service stops, or the credential changed. Socket.io leaves the reconnect to the caller.
    if (reason === "io server disconnect") dialLater()
  })
  socket.on("connect_error", (error: Error & { data?: ErrorBody }) => {
    if (error.data && final.test(error.data.code)) return endAll(errorOf(error.data))
    if (!socket.active) dialLater()
  })
  socket.on("message", ({ missed_by, ...message }: SentMessage) => {
    const missing = missed_by && keyOf({ channel: message.channel, filter: missed_by })
    for (const one of [...held.values()]) {
      if (one.of.channel !== message.channel || (missing ?? one.key) !== one.key || !passes(one.of.filter, message.data)) continue
      if (one.catching) one.catching.push(message)
      // Messages before the subscribe request belong to an earlier subscription of the channel.
      else if (one.asked === socket.id && one.position.take(message)) one.hand(message)
    }
  })
  socket.on("position", (id: string) => {
    for (const one of held.values()) if (one.asked === socket.id && !one.catching) one.position.pass(id)
  })

  return {
    subscribe(channel, onMessage, own = {}) {
      if (closed) throw new ClientError("failed_precondition", "These live updates are closed.")
      const of = own.filter === undefined ? { channel } : { channel, filter: own.filter }
      const key = keyOf(of)
      if (held.has(key)) throw new ClientError("already_exists", `There is a subscription to "${channel}" by this filter already.`)
      const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
      // Errors of an unawaited promise go to onError.
      ready.catch(() => {})
      const one: Held = {
        key,
        of,
        options: own,
        position: newPosition(own.after),
        hand: onMessage as (message: LiveMessage) => void,
        ready: resolve,
        refuse: reject,
        asked: undefined,
        catching: undefined,
      }
      held.set(key, one)
      queue(() => ask(one))
      return {
        ready,
        position: one.position.text,
        close() {
          if (held.get(key) !== one) return
          held.delete(key)
          queue(() => leave(one))
          reject(new ClientError("canceled", "The subscription was closed."))
        },
      }
    },
    close() {
      for (const one of held.values()) one.refuse(new ClientError("canceled", "The live updates were closed."))
      held.clear()
      close()
    },
  }
}

function tooLong(what: string, sent: object): ClientError | undefined {
  const { length } = JSON.stringify(sent)
  if (length <= maxSent) return undefined
  return new ClientError("invalid_argument", `The ${what} take ${length} characters together; at most ${maxSent} can be sent.`)
}

function errorOf({ code, message, details }: ErrorBody): ClientError {
  return new ClientError(code, message, details)
}
