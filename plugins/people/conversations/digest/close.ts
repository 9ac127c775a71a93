// Closes a conversation once it was idle for a while. A message that comes meanwhile has the job wait on; one that comes
// later opens it again.
import { Clock, changesOf, defineJob, Postponed, Store, timestamp } from "#core"
import { Models } from "../../../agents/models/index.ts"
import { Announcements } from "../announcements.ts"
import { closeJob, collections } from "../channels.ts"
import { newestFirst, type StoredMessage } from "../messages.ts"
import { ConversationSettingsToken } from "../settings.ts"
import { digestOf } from "./digest.ts"

/** Newest messages that are read. */
const maxMessages = 200
const minuteMs = 60_000

export const closeConversation = defineJob(closeJob, {
  summary: "Closes an idle conversation with a digest of it.",
  inject: { store: Store, clock: Clock, models: Models, settings: ConversationSettingsToken, announcements: Announcements },
  async run({ payload: { channel, conversation_id }, organization = "", deps, work, signal, last }) {
    const { store, clock, models, settings, announcements } = deps
    const { conversations, messages } = collections[channel]
    const conversation = await store.open(conversations, organization).get(conversation_id)
    if (!conversation?.closing) return
    const due = Date.parse(conversation.activity_at) + settings.idle_minutes * minuteMs
    if (due > clock.now()) throw new Postponed(due - clock.now())
    const newest = await store.open(messages, organization).find({ conversation_id }, { sort: newestFirst, limit: maxMessages })
    const usesModel = !wasIdle(newest[0], settings.idle_minutes * minuteMs)
    const digest = await digestOf({ organization, models, conversation, messages: newest.reverse(), signal, last, usesModel })
    const set = { ...digest, idle_closed_at: timestamp(clock.now()), closing: false, revision: conversation.revision + 1 }
    work.in(conversations, organization).update(conversation_id, { $set: changesOf(set) }, { where: { revision: conversation.revision } })
    announcements.stage(work, { organization, channel }, "conversation", { session_id: conversation_id, state: "idle" })
  },
})

/** Returns true if the conversation was idle already when its newest message arrived, as in an imported history. */
function wasIdle(newest: StoredMessage | undefined, idleMs: number): boolean {
  if (newest?.arrival === undefined) return false
  return Date.parse(newest.arrival.split(" ", 1)[0] ?? "") - Date.parse(newest.at) >= idleMs
}
