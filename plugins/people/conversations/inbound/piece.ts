// Takes one piece of a large delivery in. The organization is charged before the piece is read.
import { defineJob, Postponed, RateLimiter } from "#core"
import { pieceJob } from "../channels.ts"
import { ConversationSettingsToken } from "../settings.ts"
import { Receiver } from "./receiver.ts"

const waitMs = 1_000

export const receivePiece = defineJob(pieceJob, {
  summary: "Takes a part of a large webhook into conversations.",
  slots: 2,
  inject: { receiver: Receiver, limiter: RateLimiter, settings: ConversationSettingsToken },
  async run({ payload: { message_id, ...piece }, organization = "", deps: { receiver, limiter, settings }, work }) {
    const bucket = { id: `conversations.receive_piece ${organization}`, limit: settings.pieces_per_minute }
    if (!(await limiter.consume([bucket])).allowed) throw new Postponed(waitMs)
    await receiver.stagePiece(work, organization, { ...piece, messageId: message_id })
  },
})
