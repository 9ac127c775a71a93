// Stages a delivery: messages, opt-outs and reports about sent messages. No write can make the commit fail. A repeated delivery
// changes no data.
import {
  AppError,
  Clock,
  type Deps,
  defineJob,
  JobQueue,
  type Json,
  Postponed,
  RateLimiter,
  Store,
  timestamp,
  type UnitOfWork,
} from "#core"
import { type Channel, collections, conversationId, foldJob, mediaJob, messageId, moveJob, pieceJob, settleJob } from "../channels.ts"
import { type Change, EarlierAddresses, type KnownAddresses } from "../earlier-addresses.ts"
import { foldedFrom } from "../fold/fold.ts"
import type { StoredMessage } from "../messages.ts"
import { type PhoneNumber, PhoneNumberResource } from "../numbers/phone-number.ts"
import { keywordIn } from "../opt-out/keywords.ts"
import { OptOuts } from "../opt-out/ledger.ts"
import { isUserId, personKey, writtenAs } from "../phone.ts"
import { receiptId } from "../receipts.ts"
import type { Delivery, ReceivedMessage, ReceivedStatus } from "../received.ts"
import { ConversationSettingsToken } from "../settings.ts"
import { readMeta } from "./meta.ts"
import { countParts, maxParts, piecesOf } from "./pieces.ts"
import { readTwilio } from "./twilio.ts"

export const providers = { meta_whatsapp: readMeta, twilio: readTwilio } as const
export type Provider = keyof typeof providers

const receiptDays = 30
const dayMs = 86_400_000

export interface Received {
  messages: number
  statuses: number
  opt_outs: number
  opt_ins: number
  ignored: number
  /** Parts of a large delivery left to jobs. */
  deferred: number
}

interface Entries {
  opt_out: number
  opt_in: number
}

/** A webhook as received. */
export interface Arrived {
  readonly provider: Provider
  readonly payload: Json
  /** RFC 3339. */
  readonly at: string
  /** Id of the event. A replay has the same id. */
  readonly origin: string
  /** Position of a piece in a large delivery. */
  readonly piece?: number
  /** The message of a report, if the callback address contains its id. */
  readonly messageId?: string | null
}

export class Receiver {
  static readonly inject = { store: Store, clock: Clock, queue: JobQueue, optOuts: OptOuts, earlierAddresses: EarlierAddresses }
  readonly #services: Deps<typeof Receiver.inject>

  constructor(services: Deps<typeof Receiver.inject>) {
    this.#services = services
  }

  /**
   * Stages a delivery. For a large delivery, stages the first piece and a job for each other piece. Throws if the payload is not
   * a webhook of the provider.
   */
  async stage(work: UnitOfWork, organization: string, from: Arrived): Promise<Received> {
    const [first = null, ...later] = from.provider === "meta_whatsapp" ? piecesOf(from.payload) : [from.payload]
    const received = await this.stagePiece(work, organization, { ...from, payload: first })
    const { provider, at, origin, messageId: message_id = null } = from
    for (const [index, payload] of later.entries()) {
      const piece = index + 1
      const options = { organization, key: origin, id: `${origin}:piece:${piece}` }
      this.#services.queue.enqueue(work, pieceJob, { provider, payload, at, origin, piece, message_id }, options)
    }
    return { ...received, deferred: later.length === 0 ? 0 : countParts(later) }
  }

  /** Stages a delivery of a bounded size. */
  async stagePiece(work: UnitOfWork, organization: string, from: Arrived): Promise<Received> {
    const delivery = providers[from.provider](from.payload, from.at)
    if (!delivery)
      throw new AppError("invalid_argument", `The event is not a webhook of ${from.provider}; leave it as it was sent.`, {
        reason: "not_a_delivery",
        retryable: false,
      })
    const entries = { opt_out: 0, opt_in: 0 }
    const { channel } = delivery
    const addresses = await this.#addresses(work, organization, delivery)
    await this.#messages(work, organization, { from, delivery, addresses, entries })
    for (const status of delivery.statuses) {
      this.#status(work, organization, channel, { ...status, message_id: status.message_id ?? from.messageId ?? null })
    }
    for (const { address: given, kind, at, wording } of delivery.preferences) {
      const address = addresses.at(given, at)
      const evidence = { source: "provider", message_id: null, wording, recorded_by: null } as const
      this.#services.optOuts.stage(work, organization, channel, { address, kind, at, identity: `${address} ${at} ${wording}`, ...evidence })
      entries[kind]++
    }
    return counted(delivery, entries)
  }

  async #messages(
    work: UnitOfWork,
    organization: string,
    { from, delivery, addresses, entries }: { from: Arrived; delivery: Delivery; addresses: KnownAddresses; entries: Entries },
  ): Promise<void> {
    const { channel } = delivery
    const touched = new Map<string, { number: string; address: string }>()
    const numbers = await this.#numbersOf(organization, channel, delivery.messages)
    const sent = await this.#sentHere(organization, channel, delivery.messages)
    for (const [index, given] of delivery.messages.entries()) {
      if (sent.has(given.provider_id)) continue
      const number = numbers.get(given.own.phone_number_id) ?? given.own.number
      const received = { ...given, address: addresses.at(given.address, given.at) }
      const arrival = `${from.at} ${from.origin} ${String(from.piece ?? 0).padStart(6, "0")} ${String(index).padStart(6, "0")}`
      const stored = this.#message(work, organization, channel, { received, number, arrival })
      touched.set(stored.conversation_id, { number, address: received.address })
      const options = { organization, key: number, id: `${stored.id}:media` }
      if (stored.media.length > 0) this.#services.queue.enqueue(work, mediaJob, { channel, message_id: stored.id }, options)
      if (stored.direction === "in") await this.#preference(work, organization, channel, { received, stored, entries })
    }
    for (const [conversation_id, ends] of touched)
      this.#services.queue.enqueue(work, foldJob, { channel, conversation_id, ends }, { organization })
  }

  /** Stages an opt-out or opt-in from a message. */
  async #preference(
    work: UnitOfWork,
    organization: string,
    channel: Channel,
    { received, stored, entries }: { received: ReceivedMessage; stored: StoredMessage; entries: Entries },
  ): Promise<void> {
    const kind = received.preference ?? keywordIn(received.text, channel)
    if (kind === undefined || kind === "none") return
    const { address } = received
    const { optOuts } = this.#services
    const at = (await optOuts.saidAt(organization, channel, { kind, identity: stored.id })) ?? received.at
    const evidence = {
      source: received.preference ? "provider" : "keyword",
      message_id: stored.id,
      wording: received.text,
      recorded_by: null,
    } as const
    optOuts.stage(work, organization, channel, { address, kind, at, identity: stored.id, ...evidence })
    entries[kind]++
  }

  /** Stages changes of addresses, and moves opt-outs with the person. Returns the present address of each earlier address. */
  async #addresses(work: UnitOfWork, organization: string, { channel, changes, messages, preferences }: Delivery): Promise<KnownAddresses> {
    const { earlierAddresses, queue, optOuts, store } = this.#services
    const reported = changes.map(({ from, to, at }) => ({ from, to, until: isUserId(from) ? null : at }))
    const named = new Map(messages.filter(({ user_id }) => user_id !== "").map(({ user_id, address }) => [user_id, address]))
    const asked = [...messages, ...preferences].map(({ address }) => address)
    const stored = await earlierAddresses.known(organization, [...asked, ...named.keys(), ...changes.map(({ from }) => from)])
    const ofUserIds = [...named].map(([from, to]) => ({ from, to, until: null })).filter(({ from, to }) => stored.changeOf(from)?.to !== to)
    const isNew = (change: Change) => {
      const before = stored.changeOf(change.from)
      return before?.to !== change.to || (before.until ?? "") < (change.until ?? "")
    }
    const news = [...ofUserIds, ...reported].filter(isNew)
    if (news.length === 0) return stored
    const { conversations } = collections[channel]
    const theirs = { address: writtenAs(news.map(({ from }) => from)) }
    const before = await store.open(conversations, organization).find(theirs, { limit: 4 * maxParts })
    const written = new Set(before.map(({ address }) => personKey(address)))
    for (const change of news) {
      earlierAddresses.stage(work, organization, change)
      const { from, to, until } = change
      if (written.has(personKey(from))) queue.enqueue(work, moveJob, { channel, ...change }, { organization })
      const { suppressed, entry } = await optOuts.standing(organization, channel, from)
      if (!suppressed || !entry) continue
      const wording = `${entry.wording} (said at ${from}, an earlier address)`.trim()
      const evidence = { source: "provider", message_id: entry.message_id, wording, recorded_by: null } as const
      const at = until ?? entry.at
      optOuts.stage(work, organization, channel, { address: to, kind: "opt_out", at, identity: `${from} ${to} ${at}`, ...evidence })
    }
    return earlierAddresses.known(organization, [...asked, ...named.keys()], news)
  }

  #message(
    work: UnitOfWork,
    organization: string,
    channel: Channel,
    { received, number, arrival }: { received: ReceivedMessage; number: string; arrival: string },
  ): StoredMessage {
    const { own: _own, address, media, preference: _preference, user_id: _user, replacesPlaceholder, ...rest } = received
    const stored: StoredMessage = {
      ...rest,
      id: messageId(organization, channel, received.provider_id),
      conversation_id: conversationId(organization, channel, { number, address }),
      arrival,
      ...(received.direction === "out" ? { sent_at: received.at } : {}),
      media: media.map((one) => ({ ...one, state: "pending", problem: "", size: 0, key: "" })),
      template: null,
      error: null,
      changed_at: timestamp(this.#services.clock.now()),
    }
    const { messages, conversations } = collections[channel]
    const open = work.in(messages, organization)
    open.insert(stored, { ifPresent: "keep" })
    if (replacesPlaceholder) {
      const { kind, text, content } = stored
      open.update(
        stored.id,
        { $set: { kind, text, content, media: stored.media as unknown as Json } },
        { where: { kind: "other" }, optional: true },
      )
    }
    work.in(conversations, organization).insert(foldedFrom(stored, { number, address }), { ifPresent: "keep" })
    return stored
  }

  #status(work: UnitOfWork, organization: string, channel: Channel, status: ReceivedStatus): void {
    const expires_at = timestamp(this.#services.clock.now() + receiptDays * dayMs)
    const receipt = { id: receiptId(organization, channel, status), ...status, expires_at }
    work.in(collections[channel].receipts, organization).insert(receipt, { ifPresent: "keep" })
    const { provider_id, message_id } = status
    this.#services.queue.enqueue(work, settleJob, { channel, provider_id, message_id }, { organization })
  }

  /** Returns registered numbers by their provider id. */
  async #numbersOf(organization: string, channel: Channel, messages: readonly ReceivedMessage[]): Promise<ReadonlyMap<string, string>> {
    const ids = [...new Set(messages.map(({ own }) => own.phone_number_id))].filter((id) => id !== "")
    if (channel === "sms" || ids.length === 0) return new Map()
    const found: PhoneNumber[] = await this.#services.store
      .open(PhoneNumberResource.collection, organization)
      .find({ "chat_app.phone_number_id": { $in: ids } }, { limit: maxParts })
    return new Map(found.map(({ chat_app, number }) => [chat_app?.phone_number_id ?? "", number]))
  }

  /** Returns provider IDs of echoes for messages of this service. */
  async #sentHere(organization: string, channel: Channel, messages: readonly ReceivedMessage[]): Promise<ReadonlySet<string>> {
    const ids = messages.filter(({ direction }) => direction === "out").map(({ provider_id }) => provider_id)
    if (ids.length === 0) return new Set()
    const found = await this.#services.store.open(collections[channel].messages, organization).find({ provider_id: { $in: ids } })
    const isOwn = ({ id, provider_id }: StoredMessage) => id !== messageId(organization, channel, provider_id ?? "")
    return new Set(found.filter(isOwn).map(({ provider_id }) => provider_id ?? ""))
  }
}

function counted({ messages, statuses, ignored }: Delivery, entries: Entries): Received {
  const { opt_out: opt_outs, opt_in: opt_ins } = entries
  return { messages: messages.length, statuses: statuses.length, opt_outs, opt_ins, ignored, deferred: 0 }
}

const waitMs = 1_000

/** Processes one piece of a large delivery. Consumes the organization's rate limit before reading the piece. */
export const receivePiece = defineJob(pieceJob, {
  summary: "Takes a part of a large webhook into conversations.",
  slots: 2,
  inject: { receiver: Receiver, limiter: RateLimiter, settings: ConversationSettingsToken },
  async run({ payload: { message_id, ...piece }, organization = "", deps: { receiver, limiter, settings }, work }) {
    const bucket = { id: `conversations.receive_piece ${organization}`, limit: settings.pieces_per_minute }
    if (!(await limiter.consume([bucket])).allowed) throw new Postponed(waitMs)
    await receiver.stagePiece(work, organization, { ...piece, messageId: message_id })
  },
})
