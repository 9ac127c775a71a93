// The live channel of conversations by mail.
import { defineChannel } from "#core"

export const conversationsChannel = defineChannel({
  name: "email_conversations",
  scope: "email_conversations:read",
  summary: "Messages that are received into conversations by mail: their ids.",
})
