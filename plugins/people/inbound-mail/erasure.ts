// Removes all mail to and from an erased person: their conversation, their messages in other conversations, and the raw messages.
import { type Deps, type Document, type Filter, Store, token, UnitsOfWork } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { InboundMailCollection } from "./collections.ts"
import { ConversationCollection, MessageCollection } from "./conversations/collections.ts"

/** Removes all data of a normalized address. The call may repeat. */
export type MailErasure = (organization: string, address: string, signal: AbortSignal) => Promise<void>

export const MailErasure = token<MailErasure>("MailErasure")

const page = 200

export const mailErasureNeeds = { store: Store, works: UnitsOfWork, buckets: Buckets }

export function mailErasure({ store, works, buckets }: Deps<typeof mailErasureNeeds>): MailErasure {
  /** Processes matching documents in pages. `remove` must make its page stop matching. */
  async function drain<D extends Document>(find: () => Promise<D[]>, remove: (found: D[]) => Promise<void>, signal: AbortSignal) {
    for (let found = await find(); found.length > 0; found = await find()) {
      signal.throwIfAborted()
      await remove(found)
    }
  }

  return async (organization, address, signal) => {
    const [mails, messages, conversations] = [InboundMailCollection, MessageCollection, ConversationCollection]
    /** Removes raw messages first, so a stop of the node leaves no orphan file. */
    async function removeMessages(ids: readonly string[]): Promise<void> {
      const own = await store.open(mails, organization).find({ id: { $in: [...ids] } }, { limit: ids.length })
      const repeated = await store.open(mails, organization).find({ same_as: { $in: [...ids] } })
      const raw = [...own, ...repeated]
      for (const { raw_key } of raw) await buckets.open(organization).remove(raw_key)
      await works.run((work) => {
        for (const id of ids) work.in(messages, organization).remove(id, { optional: true })
        for (const { id } of raw) work.in(mails, organization).remove(id, { optional: true })
      })
    }
    const removeAll = (filter: Filter) =>
      drain(
        () => store.open(messages, organization).find(filter, { limit: page }),
        (found) => removeMessages(found.map(({ id }) => id)),
        signal,
      )
    await drain(
      () => store.open(conversations, organization).find({ address }, { limit: page }),
      async (found) => {
        for (const { id } of found) await removeAll({ conversation_id: id })
        await works.run((work) => {
          for (const { id } of found) work.in(conversations, organization).remove(id, { optional: true })
        })
      },
      signal,
    )
    await removeAll({ "from.address": address })
    // Accepted mail without a handler yet.
    await drain(
      () => store.open(mails, organization).find({ "envelope.from": address }, { limit: page }),
      (found) => removeMessages(found.map(({ id }) => id)),
      signal,
    )
  }
}
