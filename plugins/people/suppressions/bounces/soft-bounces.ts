// Temporary bounces, such as a full mailbox. Counted once per message. After several days they become a hard bounce.

import { z } from "zod"
import { type Document, defineCollection, type Store, timestamp, type UnitOfWork } from "#core"

/** Operator settings: tolerance for temporary failures. */
export const Settings = z.strictObject({
  soft_bounces: z
    .int()
    .min(1)
    .max(100)
    .default(5)
    .describe("Messages to an address that bounce within 30 days, after which it is taken for dead."),
  soft_bounce_days: z.int().min(1).max(30).default(3).describe("Days on which they must have bounced."),
})
export type Settings = z.output<typeof Settings>

interface SoftBounces extends Document {
  messages: { message_id: string; at: string }[]
  revision: number
  expires_at: string
}

/** `id` is the digest of the address. */
export const SoftBounceCollection = defineCollection<SoftBounces>()({
  name: "soft_bounces",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

/** Bounces further apart are unrelated. */
const rememberedMs = 30 * 86_400_000
const maxMessages = 100

export interface SoftBounce {
  readonly organization: string
  readonly digest: string
  readonly messageId: string
  readonly now: number
}

/** Stages the count. Returns the evidence if the address now counts as dead. */
export async function countSoftBounce(
  store: Store,
  work: UnitOfWork,
  { soft_bounces, soft_bounce_days }: Settings,
  { organization, digest, messageId, now }: SoftBounce,
): Promise<string | undefined> {
  const stored = await store.open(SoftBounceCollection, organization).get(digest)
  const staged = work.in(SoftBounceCollection, organization)
  const recent = (stored?.messages ?? []).filter(({ at }) => Date.parse(at) > now - rememberedMs)
  if (recent.some(({ message_id }) => message_id === messageId)) return undefined
  const messages = [...recent, { message_id: messageId, at: timestamp(now) }].slice(-maxMessages)
  const days = new Set(messages.map(({ at }) => at.slice(0, 10))).size
  const where = { revision: stored?.revision ?? 0 }
  if (messages.length >= soft_bounces && days >= soft_bounce_days) {
    if (stored) staged.remove(digest, { where })
    return `${messages.length} messages bounced on ${days} days.`
  }
  const expires_at = timestamp(now + rememberedMs)
  if (stored) staged.update(digest, { $set: { messages, revision: where.revision + 1, expires_at } }, { where })
  else staged.insert({ id: digest, messages, revision: 1, expires_at })
  return undefined
}
