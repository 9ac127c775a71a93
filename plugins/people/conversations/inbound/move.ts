// Moves messages from an earlier address of a person to the conversation at the present address. The job can run again. Each
// message moves once. Both conversations are then computed from their messages.
import { defineJob, type JobQueue, JobQueue as Queue, Store, UnitsOfWork } from "#core"
import { collections, conversationId, foldJob, moveJob, type StoredConversation } from "../channels.ts"
import { writtenAs } from "../phone.ts"

const page = 200

interface Services {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly queue: JobQueue
}

export const moveConversations = defineJob(moveJob, {
  summary: "Moves a person's messages from an earlier number or user ID to the present one.",
  inject: { store: Store, works: UnitsOfWork, queue: Queue },
  async run({ payload: { channel, from, to, until }, organization = "", deps, signal }) {
    const { conversations } = collections[channel]
    const found = await deps.store.open(conversations, organization).find({ address: writtenAs([from]) }, { limit: page })
    for (const conversation of found) {
      const target = conversationId(organization, channel, { number: conversation.number, address: to })
      if (target === conversation.id) continue
      signal.throwIfAborted()
      await moveMessages(deps, organization, { channel, conversation, target, to, until, signal })
    }
  },
})

interface Move {
  readonly channel: keyof typeof collections
  readonly conversation: StoredConversation
  readonly target: string
  readonly to: string
  readonly until: string | null
  readonly signal: AbortSignal
}

async function moveMessages({ store, works, queue }: Services, organization: string, move: Move): Promise<void> {
  const { channel, conversation, target, to, until, signal } = move
  const { messages, conversations } = collections[channel]
  const of = { conversation_id: conversation.id, ...(until === null ? {} : { at: { $lte: until } }) }
  for (;;) {
    signal.throwIfAborted()
    const found = await store.open(messages, organization).find(of, { sort: { at: 1 }, limit: page })
    await works.run((work) => {
      for (const { id } of found) work.in(messages, organization).update(id, { $set: { conversation_id: target } }, { optional: true })
      // Copies the digest of the conversation. The other fields follow from the messages.
      const { organization_id: _, ...rest } = conversation as StoredConversation & { organization_id?: string }
      if (found.length > 0)
        work.in(conversations, organization).insert({ ...rest, id: target, address: to, closing: false }, { ifPresent: "keep" })
      const ends = { number: conversation.number, address: to }
      queue.enqueue(work, foldJob, { channel, conversation_id: target, ends }, { organization })
      queue.enqueue(work, foldJob, { channel, conversation_id: conversation.id }, { organization })
    })
    if (found.length < page) return
  }
}
