// The action `conversation.receive`, as a plugin.
import { z } from "zod"
import { definePlugin } from "#core"
import { conversationReceive } from "./conversation-receive.ts"

export default definePlugin({
  id: "action-conversation-receive",
  needs: ["conversations"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(conversationReceive),
})
