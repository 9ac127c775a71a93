// Removing messages, and what is older than an operator wants it.
import { z } from "zod"
import { Clock, defineJob, JobQueue, timestamp } from "#core"
import { Organizations } from "../../../platform/organizations/index.ts"
import { foldJob, purgeJob } from "../channels.ts"
import { ConversationSettingsToken } from "../settings.ts"
import { Removals } from "./removals.ts"

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
