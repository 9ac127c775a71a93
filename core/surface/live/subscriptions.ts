// The subscriptions of a socket: joins a channel after sending missed messages, and leaves it. Requests of a socket run in order,
// with a limit of waiting requests.
import { z } from "zod"
import { type Channel, type ChannelFilter, channelPattern, coversChannel } from "../../contract/channel.ts"
import type { ClockCorrections } from "../../contract/cluster.ts"
import type { Store } from "../../contract/store.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError, asAppError, type ErrorBody } from "../../kernel/errors.ts"
import { idAt } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { parseInput } from "../call/parse-input.ts"
import { type Guest, mayJoin } from "./admission.ts"
import { type Backlog, missedSince } from "./backlog.ts"
import { positionsRoom } from "./delivery.ts"
import { anyFilterRoom, filterRoom, socketRoom, type WireMessage } from "./messages.ts"
import type { RequestLimits } from "./request-limits.ts"

export interface SubscriptionDeps {
  readonly requests: Pick<RequestLimits, "inTurn">
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  readonly channels: readonly Channel[]
  readonly keepMs: number
  readonly keepMessages: number
  readonly corrections?: Pick<ClockCorrections, "setBackTo">
}

/** Socket interface for subscriptions. */
export interface Peer {
  readonly guest: Guest
  readonly connected: boolean
  join(rooms: string[]): Promise<void> | void
  leave(room: string): Promise<void> | void
  send(message: WireMessage): void
}

export type Acknowledgement =
  | {
      readonly ok: true
      /** True if some missed messages may no longer be stored. */
      readonly truncated?: true
      /**
       * Start of a `resumable` subscription. The first id is the position for later requests. The other ids are messages stored
       * just before it; the client drops their repeats.
       */
      readonly from?: readonly string[]
    }
  | ErrorBody

const maxSubscriptions = 100
const maxWaiting = 20

const name = z.string().regex(channelPattern, "a channel name: letters, digits and . _ - : between them, at most 100")
/** Socket messages arrive parsed. A longer integer may already be rounded. */
const exactNumber = z.number().refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), {
  error: "is an integer beyond 2^53, which a number cannot hold exactly; send it as text",
})
/** Maximum text length of any filter. The channel checks the other rules. */
const filter = z.record(z.string().max(100), z.union([z.string().max(1_000), exactNumber, z.boolean()])).default({})
const Unsubscribe = z.strictObject({ channel: name, filter })
const Subscribe = z.strictObject({
  ...Unsubscribe.shape,
  after: z.guid("the id of the last message seen").toLowerCase().optional(),
  resumable: z.boolean().optional(),
})

interface Joined {
  readonly channel: string
  readonly filter: ChannelFilter
  /** The socket.io room of the channel, and the room of the filter. Both are equal without a filter. */
  readonly base: string
  readonly room: string
}

export class Subscriptions {
  readonly #deps: SubscriptionDeps
  readonly #peer: Peer
  readonly #joined = new Map<string, Joined>()
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(deps: SubscriptionDeps, peer: Peer) {
    this.#deps = deps
    this.#peer = peer
  }

  subscribe(request: unknown): Promise<Acknowledgement> {
    return this.#inTurn(async () => {
      const { channel, filter, after, resumable } = await parseInput(Subscribe, request)
      mayJoin(this.#peer.guest, channel, this.#deps.channels)
      await parseInput(z.strictObject({ filter: this.#filterOf(channel) }), { filter })
      const joined = this.#roomsOf(channel, filter)
      if (!this.#joined.has(joined.room) && this.#joined.size >= maxSubscriptions) {
        throw new AppError(
          "resource_exhausted",
          `A socket holds at most ${maxSubscriptions} channels; leave one, or open another socket.`,
          {
            reason: "too_many_channels",
          },
        )
      }
      if (after !== undefined) return (await this.#catchUp(joined, after)) ? { ok: true, truncated: true } : { ok: true }
      const from = resumable ? await this.#beginning(joined) : undefined
      await this.#join(joined, resumable)
      return from ? { ok: true, from } : { ok: true }
    })
  }

  unsubscribe(request: unknown): Promise<Acknowledgement> {
    return this.#inTurn(async () => {
      const { channel, filter } = await parseInput(Unsubscribe, request)
      const { base, room } = this.#roomsOf(channel, filter)
      this.#joined.delete(room)
      await this.#peer.leave(room)
      const filters = [...this.#joined.values()].some((one) => one.base === base && one.room !== base)
      if (!filters) await this.#peer.leave(anyFilterRoom(base))
      return { ok: true }
    })
  }

  async #join(joined: Joined, keepsPosition = false): Promise<void> {
    const { base, room } = joined
    this.#joined.set(room, joined)
    await this.#peer.join([room, ...(room === base ? [] : [anyFilterRoom(base)]), ...(keepsPosition ? [positionsRoom] : [])])
  }

  async #beginning(joined: Joined): Promise<string[]> {
    const now = idAt(this.#deps.clock.now())
    const { messages } = await this.#missed(joined, now)
    return [now, ...messages.map(({ id }) => id)]
  }

  /** Sends old messages before the socket joins, so they precede new messages. Then sends the messages committed in between. */
  async #catchUp(joined: Joined, after: string): Promise<boolean> {
    const before = await this.#missed(joined, after)
    const sent = new Set([after])
    for (const message of before.messages) {
      sent.add(message.id)
      this.#peer.send(message)
    }
    await this.#join(joined, true)
    const between = await this.#missed(joined, before.messages.at(-1)?.id ?? after)
    for (const message of between.messages) if (!sent.has(message.id)) this.#peer.send(message)
    return before.truncated
  }

  #missed({ channel, filter }: Joined, after: string): Promise<Backlog> {
    const { store, clock, keepMs, keepMessages, corrections } = this.#deps
    return missedSince({
      setBackTo: async (at) => corrections?.setBackTo(at),
      store,
      organization: this.#organization,
      channel,
      endpoint: this.#endpoint,
      declared: this.#declared(channel),
      filter,
      after,
      now: clock.now(),
      keepMs,
      keepMessages,
    })
  }

  /** Undefined for channels of pipelines. All channels of viewers are pipeline channels. */
  #declared(channel: string): Channel | undefined {
    return this.#endpoint === undefined ? this.#deps.channels.find(({ name }) => coversChannel(name, channel)) : undefined
  }

  #filterOf(channel: string) {
    return z.strictObject({ ...this.#declared(channel)?.filters }).partial()
  }

  #roomsOf(channel: string, filter: ChannelFilter): Joined {
    const base = socketRoom(this.#organization, channel, this.#endpoint)
    return { channel, filter, base, room: filterRoom(base, filter) }
  }

  get #organization(): string {
    const { guest } = this.#peer
    return guest.kind === "caller" ? guest.caller.organization.id : guest.organization
  }

  get #endpoint(): string | undefined {
    return this.#peer.guest.kind === "viewer" ? this.#peer.guest.endpoint : undefined
  }

  #inTurn(run: () => Promise<Acknowledgement>): Promise<Acknowledgement> {
    if (this.#waiting >= maxWaiting) {
      const error = new AppError(
        "resource_exhausted",
        `More than ${maxWaiting} requests of this socket are waiting; await their acknowledgements.`,
        {
          reason: "too_many_waiting",
        },
      )
      return Promise.resolve(error.toBody())
    }
    this.#waiting++
    const turn = this.#last.then(async () => {
      try {
        return await this.#deps.requests.inTurn(this.#peer.guest, async () => {
          if (this.#peer.connected) return await run()
          throw new AppError("canceled", "The socket is closed.", { reason: "canceled" })
        })
      } catch (cause) {
        const error = asAppError(cause)
        if (error.status >= 500) this.#deps.log.error({ err: error.cause ?? error }, "live request failed")
        return error.toBody()
      } finally {
        this.#waiting--
      }
    })
    this.#last = turn
    return turn
  }
}
