// Computes a conversation from its stored messages after each new message. The result does not depend on the order or repetition
// of deliveries. The revision refuses a concurrent write, and the job runs again.
import { type Changes, type Deps, JobQueue, Store, type UnitOfWork } from "#core"
import { Announcements } from "../announcements.ts"
import { type Channel, closeJob, collections, foldJob, type StoredConversation } from "../channels.ts"
import type { SeenPerson } from "../leads.ts"
import { accepted, newestFirst, newestSentFirst, oldestFirst, type StoredMessage, sentTime, unsent } from "../messages.ts"
import { Removals } from "../removal/removals.ts"

type Folded = Pick<
  StoredConversation,
  | "created_at"
  | "activity_at"
  | "message_count"
  | "last_inbound_at"
  | "last_inbound_message_id"
  | "last_outbound_at"
  | "last_outbound_message_id"
  | "sender_kind"
>

/** Returns a new conversation with this message as its first. */
export function foldedFrom(message: StoredMessage, { number, address }: Ends): StoredConversation {
  const isOut = message.direction === "out"
  const isUnsent = isOut && sentTime(message) === undefined
  const ends = { newestIn: isOut ? undefined : message, newestOut: isOut && !isUnsent ? message : undefined }
  return {
    id: message.conversation_id,
    number,
    address,
    ...foldOf({ count: isUnsent ? 0 : 1, oldest: message, ...ends }),
    idle_closed_at: null,
    contact: {},
    summary: "",
    topics: null,
    revision: 1,
  }
}

interface Found {
  /** Number of received and sent messages. */
  readonly count: number
  readonly oldest: StoredMessage
  readonly newestIn: StoredMessage | undefined
  readonly newestOut: StoredMessage | undefined
}

function foldOf({ count, oldest, newestIn, newestOut }: Found): Folded {
  const isInNewer = orderOf(newestIn) >= orderOf(newestOut)
  const newest = isInNewer ? newestIn : newestOut
  return {
    created_at: oldest.at,
    activity_at: newest ? timeOf(newest) : oldest.at,
    message_count: count,
    last_inbound_at: newestIn?.at ?? null,
    last_inbound_message_id: newestIn?.id ?? null,
    last_outbound_at: newestOut ? timeOf(newestOut) : null,
    last_outbound_message_id: newestOut?.id ?? null,
    sender_kind: newest ? (isInNewer ? "person" : "organization") : "",
  }
}

function timeOf(message: StoredMessage): string {
  return sentTime(message) ?? message.at
}

function orderOf(message: StoredMessage | undefined): string {
  return message ? `${timeOf(message)} ${message.arrival ?? ""}` : ""
}

interface FoldDeps extends Deps<typeof Folds.inject> {
  readonly idleMs: number
}

/** The two numbers of a conversation. */
type Ends = Pick<StoredConversation, "number" | "address">

export class Folds {
  static readonly inject = { store: Store, queue: JobQueue, removals: Removals, announcements: Announcements }
  readonly #store: Store
  readonly #removals: Removals
  readonly #queue: JobQueue
  readonly #announcements: Announcements
  readonly #idleMs: number

  constructor({ store, queue, removals, announcements, idleMs }: FoldDeps) {
    this.#store = store
    this.#announcements = announcements
    this.#removals = removals
    this.#queue = queue
    this.#idleMs = idleMs
  }

  /** Stages the computed conversation if it differs from the stored conversation. */
  async stage(work: UnitOfWork, organization: string, channel: Channel, id: string, ends?: Ends): Promise<void> {
    const stored = await this.#store.open(collections[channel].conversations, organization).get(id)
    const messages = this.#store.open(collections[channel].messages, organization)
    const removed = await this.#removals.removedUntil(organization, id)
    if (removed !== undefined && (await messages.first({ conversation_id: id, at: { $lte: removed } })))
      this.#removals.stagePurge(work, organization, channel, id, removed)
    const of = { conversation_id: id, ...(removed === undefined ? {} : { at: { $gt: removed } }) }
    const newestSent = async () => {
      const out = { ...of, direction: "out" }
      const dated = await messages.first({ ...out, sent_at: { $ne: null } }, { sort: newestSentFirst })
      // Older versions did not store the time of sending.
      const undated = await messages.first({ ...out, sent_at: null, ...accepted }, { sort: newestFirst })
      return orderOf(undated) > orderOf(dated) ? undated : dated
    }
    // Counts first. Otherwise a new message could be counted before it is read.
    const [all, notSent] = await Promise.all([messages.count(of), messages.count({ ...of, ...unsent })])
    const [oldest, newestIn, newestOut] = await Promise.all([
      messages.first(of, { sort: oldestFirst }),
      messages.first({ ...of, direction: "in" }, { sort: newestFirst }),
      newestSent(),
    ])
    const conversations = work.in(collections[channel].conversations, organization)
    const announce = (state: "open" | "idle" | "removed") =>
      this.#announcements.stage(work, { organization, channel }, "conversation", { session_id: id, state })
    if (!oldest) {
      if (!stored) return
      conversations.remove(id, { where: { revision: stored.revision } })
      announce("removed")
      return
    }
    const folded = foldOf({ count: all - notSent, oldest, newestIn, newestOut })
    if (!stored) {
      if (!ends) return
      conversations.insert({ ...foldedFrom(oldest, ends), ...folded }, { ifPresent: "keep" })
      this.#queue.enqueue(work, foldJob, { channel, conversation_id: id }, { organization })
      return
    }
    const changed = Object.entries(folded).filter(([name, value]) => stored[name as keyof Folded] !== value)
    const isClosed = stored.idle_closed_at !== null && folded.message_count === stored.message_count
    const isDue = !isClosed && !stored.closing
    if (changed.length === 0 && !isDue) return
    const revision = stored.revision + 1
    const set: Changes = {
      ...Object.fromEntries(changed),
      ...(isDue ? { idle_closed_at: null, closing: true } : {}),
      revision,
    }
    if (isDue) {
      const options = { organization, id: `${id}:close:${revision}`, runAt: Date.parse(folded.activity_at) + this.#idleMs }
      this.#queue.enqueue(work, closeJob, { channel, conversation_id: id }, options)
    }
    conversations.update(id, { $set: set }, { where: { revision: stored.revision } })
    announce(isClosed ? "idle" : "open")
  }

  /** Stages a report of the author to the leads. Fails if the conversation was removed. A concurrent removal waits. */
  stageTold(work: UnitOfWork, organization: string, channel: Channel, id: string): void {
    work.in(collections[channel].conversations, organization).update(id, { $set: { told_in: work.id } })
  }

  /** Returns the author as of their newest message. Returns undefined if the person has not written, or not since a removal. */
  async author(organization: string, channel: Channel, id: string): Promise<SeenPerson | undefined> {
    const stored = await this.#store.open(collections[channel].conversations, organization).get(id)
    if (!stored?.last_inbound_message_id) return undefined
    const newest = await this.#store.open(collections[channel].messages, organization).get(stored.last_inbound_message_id)
    // A repeated delivery can make removed messages reappear for a moment.
    const isLeft = newest && newest.at > ((await this.#removals.removedUntil(organization, id)) ?? "")
    return isLeft ? { address: stored.address, name: newest.profile_name, at: newest.at } : undefined
  }
}
