// Removing every mail to and from a person who was erased: their conversation, what they wrote in others, and the raw messages.
import { type Deps, type Document, type Filter, Store, token, UnitsOfWork } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { InboundMailCollection } from "./collections.ts"
import { ConversationCollection, MessageCollection } from "./conversations/collections.ts"

/** Removes all that is kept of an address in its one spelling; may be run again. */
export type MailErasure = (organization: string, address: string, signal: AbortSignal) => Promise<void>

export const MailErasure = token<MailErasure>("MailErasure")

const page = 200

export const mailErasureNeeds = { store: Store, works: UnitsOfWork, buckets: Buckets }

export function mailErasure({ store, works, buckets }: Deps<typeof mailErasureNeeds>): MailErasure {
  /** Pages of what matches until nothing does; `remove` must have it match no more. */
  async function drain<D extends Document>(find: () => Promise<D[]>, remove: (found: D[]) => Promise<void>, signal: AbortSignal) {
    for (let found = await find(); found.length > 0; found = await find()) {
      signal.throwIfAborted()
      await remove(found)
    }
  }

  return async (organization, address, signal) => {
    const [mails, messages, conversations] = [InboundMailCollection, MessageCollection, ConversationCollection]
    /** Of a received message the raw one goes first, so that none is left where a node ends. */
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
    // Taken, and not handled yet.
    await drain(
      () => store.open(mails, organization).find({ "envelope.from": address }, { limit: page }),
      (found) => removeMessages(found.map(({ id }) => id)),
      signal,
    )
  }
}
