// Bringing conversations and sent messages up to date, after what changed them is on disk.
import { defineJob, type UnitOfWork, UnitsOfWork } from "#core"
import { foldJob, settleJob } from "../channels.ts"
import { ConversationLeads } from "../leads.ts"
import { Removals } from "../removal/removals.ts"
import { Folds } from "./fold.ts"
import { Settlements } from "./settle.ts"

export const foldConversation = defineJob(foldJob, {
  summary: "Brings a conversation up to date with its messages.",
  inject: { folds: Folds, works: UnitsOfWork, leads: ConversationLeads, removals: Removals },
  async run({ payload: { channel, conversation_id, ends, sent }, organization = "", deps: { folds, works, leads, removals } }) {
    if (ends && sent !== undefined) await removals.removeLate(organization, channel, sent, ends)
    await works.retryConflicts((work) => folds.stage(work, organization, channel, conversation_id, ends))
    const author = await folds.author(organization, channel, conversation_id)
    // A person who is erased meanwhile is not made a lead again.
    const stage = (work: UnitOfWork) => folds.stageTold(work, organization, channel, conversation_id)
    if (author) await leads.seen(organization, author, stage)
  },
})

export const settleMessage = defineJob(settleJob, {
  summary: "Brings a sent message up to date with the reports about it.",
  inject: { settlements: Settlements, works: UnitsOfWork },
  run: ({ payload: { channel, ...of }, organization = "", deps }) =>
    deps.works.retryConflicts((work) => deps.settlements.stage(work, organization, channel, of)),
})
