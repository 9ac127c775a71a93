// Removes conversations: by operation, by age, or after an erasure. The conversation disappears at once. A job removes messages
// and files, and starts again if its node stops. Repeated deliveries of removed messages are removed as well.

import { z } from "zod"
import {
  Clock,
  type Deps,
  type Document,
  defineCollection,
  defineJob,
  JobQueue,
  Store,
  timestamp,
  token,
  type UnitOfWork,
  UnitsOfWork,
} from "#core"
import { Buckets } from "../../../data/buckets/index.ts"
import { Organizations } from "../../../platform/organizations/index.ts"
import { Announcements } from "../announcements.ts"
import { type Channel, channels, collections, foldJob, purgeJob } from "../channels.ts"
import { EarlierAddresses } from "../earlier-addresses.ts"
import { OptOuts } from "../opt-out/ledger.ts"
import { writtenAs } from "../phone.ts"
import { ConversationSettingsToken } from "../settings.ts"
import { OutboundVetoes, vetoOf } from "../vetoes.ts"

/** A removed conversation, with the same `id`. */
interface Removal extends Document {
  /** Messages up to this time are removed. */
  until: string
  expires_at: string
}

export const RemovalCollection = defineCollection<Removal>()({
  name: "conversation_removals",
  scope: "organization",
  times: ["until", "expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

/** Providers repeat deliveries for some days. */
const keptMs = 30 * 86_400_000
const page = 200

export class Removals {
  static readonly inject = {
    store: Store,
    clock: Clock,
    queue: JobQueue,
    works: UnitsOfWork,
    buckets: Buckets,
    optOuts: OptOuts,
    earlierAddresses: EarlierAddresses,
    announcements: Announcements,
    vetoes: OutboundVetoes,
  }
  readonly #services: Deps<typeof Removals.inject>

  constructor(services: Deps<typeof Removals.inject>) {
    this.#services = services
  }

  /** Stages the removal of a conversation, with messages up to `until`. */
  stage(work: UnitOfWork, organization: string, channel: Channel, conversation_id: string, until: string): void {
    const expires_at = timestamp(this.#services.clock.now() + keptMs)
    work.in(collections[channel].conversations, organization).remove(conversation_id, { optional: true })
    work.in(RemovalCollection, organization).update(conversation_id, { $set: { until, expires_at } }, { upsert: true })
    this.stagePurge(work, organization, channel, conversation_id, until)
    const told = { session_id: conversation_id, state: "removed" } as const
    this.#services.announcements.stage(work, { organization, channel }, "conversation", told)
  }

  stagePurge(work: UnitOfWork, organization: string, channel: Channel, conversation_id: string, until: string): void {
    const id = `${conversation_id}:purge:${until}`
    this.#services.queue.enqueue(work, purgeJob, { channel, conversation_id, until }, { organization, id })
  }

  async removedUntil(organization: string, conversationId: string): Promise<string | undefined> {
    return (await this.#services.store.open(RemovalCollection, organization).get(conversationId))?.until
  }

  /** Removes messages with their files and reports. Removes files first, so a stop of the node leaves no orphan file. */
  async purge(organization: string, channel: Channel, conversation_id: string, until: string, signal: AbortSignal): Promise<void> {
    const { store, works, buckets } = this.#services
    const { messages, receipts } = collections[channel]
    for (;;) {
      signal.throwIfAborted()
      const filter = { conversation_id, at: { $lte: until } }
      const found = await store.open(messages, organization).find(filter, { sort: { at: 1 }, limit: page })
      if (found.length === 0) return
      const keys = found.flatMap(({ media }) => media.map(({ key }) => key)).filter((key) => key !== "")
      for (const key of keys) await buckets.open(organization).remove(key)
      const sent = found.flatMap(({ direction, provider_id }) => (direction === "out" && provider_id !== null ? [provider_id] : []))
      const reports = sent.length === 0 ? [] : await store.open(receipts, organization).find({ provider_id: { $in: sent } })
      await works.run((work) => {
        for (const { id } of found) work.in(messages, organization).remove(id, { optional: true })
        for (const { id } of reports) work.in(receipts, organization).remove(id, { optional: true })
      })
    }
  }

  /** Removes all conversations with a number and its ledger entries. The call may repeat. */
  async erase(organization: string, address: string, signal: AbortSignal): Promise<void> {
    const { store, clock, works, optOuts, earlierAddresses } = this.#services
    const theirs = { address: writtenAs([address]) }
    for (const channel of channels) {
      for (;;) {
        signal.throwIfAborted()
        const found = await store.open(collections[channel].conversations, organization).find(theirs, { limit: page })
        if (found.length === 0) break
        const until = timestamp(clock.now())
        await works.run((work) => {
          for (const { id } of found) this.stage(work, organization, channel, id, until)
        })
      }
      await optOuts.forget(organization, channel, address, works)
    }
    while (await works.run((work) => earlierAddresses.stageRemoval(work, organization, address))) signal.throwIfAborted()
  }

  /** Removes a message if its recipient was erased between the gate and the storage. */
  async removeLate(organization: string, channel: Channel, messageId: string, ends: { number: string; address: string }): Promise<void> {
    const { vetoes, works } = this.#services
    const veto = await vetoOf(vetoes, organization, { channel, ...ends, kind: "text", purpose: "service" })
    if (!veto?.erased) return
    await works.run((work) => work.in(collections[channel].messages, organization).remove(messageId, { optional: true }))
  }

  /** Removes messages from before a time, and conversations without newer messages. */
  async removeOld(organization: string, before: string, signal: AbortSignal): Promise<void> {
    const { store, works } = this.#services
    for (const channel of channels) {
      const old = store.open(collections[channel].conversations, organization).stream({ created_at: { $lt: before } })
      for await (const { id, activity_at } of old) {
        signal.throwIfAborted()
        await works.run((work) => {
          if (activity_at < before) this.stage(work, organization, channel, id, before)
          else this.stagePurge(work, organization, channel, id, before)
        })
      }
    }
  }
}

/** Removes all data of a number. The call may repeat. */
export type ConversationErasure = (organization: string, address: string, signal: AbortSignal) => Promise<void>

export const ConversationErasure = token<ConversationErasure>("ConversationErasure")

const dayMs = 86_400_000

export const purgeMessages = defineJob(purgeJob, {
  summary: "Removes messages of a conversation, with their files.",
  inject: { removals: Removals, queue: JobQueue },
  async run({ payload: { channel, conversation_id, until }, organization = "", deps: { removals, queue }, work, signal }) {
    await removals.purge(organization, channel, conversation_id, until, signal)
    queue.enqueue(work, foldJob, { channel, conversation_id }, { organization })
  },
})

export const removeOldMessages = defineJob({
  type: "conversations.retention",
  summary: "Removes messages that are older than keep_days.",
  payload: z.object({}),
  timeoutMs: 3_600_000,
  inject: { removals: Removals, organizations: Organizations, settings: ConversationSettingsToken, clock: Clock },
  async run({ deps: { removals, organizations, settings, clock }, signal }) {
    if (settings.keep_days === 0) return
    const before = timestamp(clock.now() - settings.keep_days * dayMs)
    for await (const { id } of organizations.all()) await removals.removeOld(id, before, signal)
  },
})
