// The action type email.send.
import { z } from "zod"
import { definePlugin } from "#core"
import { emailSend } from "./email-send.ts"

export default definePlugin({
  id: "action-email-send",
  needs: ["email"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(emailSend),
})
