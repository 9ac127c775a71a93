// The live channel of conversations by mail.
import { defineChannel } from "#core"

export const conversationsChannel = defineChannel({
  name: "email_conversations",
  summary: "Messages that are received into conversations by mail: their ids.",
})
