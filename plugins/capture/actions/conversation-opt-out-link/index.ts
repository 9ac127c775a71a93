// The action `conversation.opt_out_link`, as a plugin.
import { z } from "zod"
import { definePlugin } from "#core"
import { conversationOptOutLink } from "./conversation-opt-out-link.ts"

export default definePlugin({
  id: "action-conversation-opt-out-link",
  needs: ["conversations"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(conversationOptOutLink),
})
