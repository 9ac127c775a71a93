// One socket's subscriptions: joining a channel with what was missed first, and leaving it. Requests of a socket are
// served one after the other, a bounded number waiting.
import { z } from "zod"
import { type Channel, channelPattern, coversChannel } from "../../contract/channel.ts"
import type { Store } from "../../contract/store.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError, asAppError, type ErrorBody } from "../../kernel/errors.ts"
import { idAt } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import { parseInput } from "../call/parse-input.ts"
import { type Guest, mayJoin } from "./admission.ts"
import { type Backlog, missedSince } from "./backlog.ts"
import { socketRoom, type WireMessage } from "./messages.ts"

export interface SubscriptionDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  readonly channels: readonly Channel[]
  readonly keepMs: number
  readonly keepMessages: number
}

/** What a subscription needs of a socket. */
export interface Peer {
  readonly guest: Guest
  readonly connected: boolean
  readonly rooms: ReadonlySet<string>
  join(room: string): Promise<void> | void
  leave(room: string): Promise<void> | void
  send(message: WireMessage): void
}

export type Acknowledgement =
  | {
      readonly ok: true
      /** More was missed than is kept. */
      readonly truncated?: true
      /** Where a `resumable` subscription began: an id to ask for messages after, then those kept from just before it, to be known as repeats. */
      readonly from?: readonly string[]
    }
  | ErrorBody

const maxSubscriptions = 100
const maxWaiting = 20

const name = z.string().regex(channelPattern, "a channel name: letters, digits and . _ - : between them, at most 100")
const Subscribe = z.strictObject({
  channel: name,
  after: z.guid("the id of the last message seen").toLowerCase().optional(),
  resumable: z.boolean().optional(),
})
const Unsubscribe = z.strictObject({ channel: name })

export class Subscriptions {
  readonly #deps: SubscriptionDeps
  readonly #peer: Peer
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(deps: SubscriptionDeps, peer: Peer) {
    this.#deps = deps
    this.#peer = peer
  }

  subscribe(request: unknown): Promise<Acknowledgement> {
    return this.#inTurn(async () => {
      const { channel, after, resumable } = await parseInput(Subscribe, request)
      mayJoin(this.#peer.guest, channel, this.#deps.channels)
      const room = this.#socketRoom(channel)
      if (!this.#peer.rooms.has(room) && this.#peer.rooms.size > maxSubscriptions) {
        throw new AppError(
          "resource_exhausted",
          `A socket holds at most ${maxSubscriptions} channels; leave one, or open another socket.`,
          {
            reason: "too_many_channels",
          },
        )
      }
      if (after === undefined) {
        const from = resumable ? await this.#beginning(channel) : undefined
        await this.#peer.join(room)
        return from ? { ok: true, from } : { ok: true }
      }
      return (await this.#catchUp(channel, room, after)) ? { ok: true, truncated: true } : { ok: true }
    })
  }

  unsubscribe(request: unknown): Promise<Acknowledgement> {
    return this.#inTurn(async () => {
      const { channel } = await parseInput(Unsubscribe, request)
      await this.#peer.leave(this.#socketRoom(channel))
      return { ok: true }
    })
  }

  async #beginning(channel: string): Promise<string[]> {
    const now = idAt(this.#deps.clock.now())
    const { messages } = await this.#missed(channel, now)
    return [now, ...messages.map(({ id }) => id)]
  }

  /** The old messages go out before the socket joins, so that none of them follows a new one; then what was committed in between. */
  async #catchUp(channel: string, room: string, after: string): Promise<boolean> {
    const before = await this.#missed(channel, after)
    const sent = new Set([after])
    for (const message of before.messages) {
      sent.add(message.id)
      this.#peer.send(message)
    }
    await this.#peer.join(room)
    const between = await this.#missed(channel, before.messages.at(-1)?.id ?? after)
    for (const message of between.messages) if (!sent.has(message.id)) this.#peer.send(message)
    return before.truncated
  }

  #missed(channel: string, after: string): Promise<Backlog> {
    const { store, clock, channels, keepMs, keepMessages } = this.#deps
    const endpoint = this.#endpoint
    const declared = endpoint === undefined ? channels.find(({ name }) => coversChannel(name, channel)) : undefined
    return missedSince({
      store,
      organization: this.#organization,
      channel,
      endpoint,
      declared,
      after,
      now: clock.now(),
      keepMs,
      keepMessages,
    })
  }

  get #organization(): string {
    const { guest } = this.#peer
    return guest.kind === "caller" ? guest.caller.organization.id : guest.organization
  }

  get #endpoint(): string | undefined {
    return this.#peer.guest.kind === "viewer" ? this.#peer.guest.endpoint : undefined
  }

  #socketRoom(channel: string): string {
    return socketRoom(this.#organization, channel, this.#endpoint)
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
        return this.#peer.connected ? await run() : new AppError("canceled", "The socket is closed.", { reason: "canceled" }).toBody()
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
