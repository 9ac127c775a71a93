// Job: fetches the files of a message into the bucket.
import { AppError, Clock, defineJob, type Json, Store, timestamp } from "#core"
import { Integrations } from "../../../agents/integrations/index.ts"
import { Buckets } from "../../../data/buckets/index.ts"
import { Announcements } from "../announcements.ts"
import { collections, mediaJob } from "../channels.ts"
import type { Media } from "../messages.ts"
import { PhoneNumbers } from "../numbers/phone-number.ts"
import { ConversationSettingsToken } from "../settings.ts"
import { fetchMedia } from "./fetch.ts"

export const fetchMessageMedia = defineJob(mediaJob, {
  summary: "Fetches the files of a message.",
  // Each run has a file in memory. The key is the receiving number.
  slots: 6,
  limitsKeys: true,
  inject: {
    store: Store,
    clock: Clock,
    buckets: Buckets,
    numbers: PhoneNumbers,
    integrations: Integrations,
    settings: ConversationSettingsToken,
    announcements: Announcements,
  },
  async run({ payload: { channel, message_id }, organization = "", deps, work, signal, last }) {
    const { store, clock, buckets, numbers, integrations, settings, announcements } = deps
    const { messages, conversations } = collections[channel]
    const message = await store.open(messages, organization).get(message_id)
    if (!message?.media.some(({ state }) => state === "pending")) return
    const conversation = await store.open(conversations, organization).get(message.conversation_id)
    const number = conversation && (await numbers.find(organization, conversation.number))
    const media: Media[] = []
    for (const [place, one] of message.media.entries()) {
      if (one.state !== "pending") media.push(one)
      else if (!number) media.push({ ...one, state: "failed", problem: "The number is not registered, so that no connection is known." })
      else {
        const args = { organization, channel, number, media: one, maxBytes: settings.max_media_bytes, integrations, signal }
        const fetched = await fetchMedia(args).catch((error: unknown) => {
          if (last && error instanceof AppError) return { state: "failed", problem: error.message } as const
          throw error
        })
        if ("state" in fetched) media.push({ ...one, ...fetched })
        else {
          const key = `conversations/${message_id}/${place}.${fetched.ending}`
          await buckets.open(organization).put(key, fetched.bytes)
          media.push({ ...one, media_type: fetched.media_type, state: "stored", size: fetched.bytes.length, key })
        }
      }
    }
    // The message was removed during the fetch.
    if (!(await store.open(messages, organization).get(message_id))) {
      for (const { key } of media) if (key !== "") await buckets.open(organization).remove(key)
      return
    }
    const set = { media: media as unknown as Json, changed_at: timestamp(clock.now()) }
    work.in(messages, organization).update(message_id, { $set: set })
    const { conversation_id: session_id, state } = message
    announcements.stage(work, { organization, channel }, "message", { session_id, message_id, state })
  },
})
