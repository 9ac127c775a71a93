// The jobs of what came in, for the code that stages them.
import { z } from "zod"
import type { Json } from "#core"
import { channels } from "../channels.ts"

export const pieceJob = {
  type: "conversations.receive_piece",
  payload: z.object({
    provider: z.enum(["meta_whatsapp", "twilio"]),
    /** A webhook of at most `maxParts` parts. */
    payload: z.custom<Json>(),
    at: z.string(),
    origin: z.string(),
    piece: z.int(),
    message_id: z.string().nullable(),
  }),
}

export const moveJob = {
  type: "conversations.move",
  payload: z.object({ channel: z.enum(channels), from: z.string(), to: z.string(), until: z.string().nullable() }),
}
