// Operator settings: quiet hours, message limits, and storage of files.
import { z } from "zod"
import { token } from "#core"

const TimeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "a time of day such as 21:00")

export const ConversationSettings = z.strictObject({
  quiet_from: TimeOfDay.default("21:00").describe("From then on, by the recipient's clock, messages wait; `quiet_until` the same: never."),
  quiet_until: TimeOfDay.default("08:00").describe("Until then."),
  reply_grace_minutes: z.int().min(0).max(1_440).default(60).describe("Who wrote so recently is answered in quiet hours as well."),
  max_unanswered_per_day: z
    .int()
    .min(1)
    .max(1_000)
    .default(5)
    .describe("Messages to a person in 24 hours that they have not answered; further ones are refused."),
  max_media_bytes: z.int().min(1).max(67_108_864).default(16_777_216).describe("Largest file of a message that is fetched."),
  keep_days: z.int().min(0).max(36_500).default(0).describe("Messages and their files are removed after so many days; 0: never."),
  idle_minutes: z.int().min(1).max(43_200).default(720).describe("A conversation without messages for so long is closed, and summed up."),
  pieces_per_minute: z
    .int()
    .min(1)
    .max(100_000)
    .default(600)
    .describe(
      "Large webhooks are taken in by pieces of 50 messages. Pieces of one organization on this node in a minute; further ones wait.",
    ),
  messages_per_minute: z
    .int()
    .min(1)
    .max(100_000)
    .default(300)
    .describe("Messages from one number of this node in a minute; further ones wait."),
})
export type ConversationSettings = z.output<typeof ConversationSettings>

export const ConversationSettingsToken = token<ConversationSettings>("ConversationSettings")
