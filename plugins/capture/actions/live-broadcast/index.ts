// The action type live.broadcast.
import { z } from "zod"
import { definePlugin } from "#core"
import { liveBroadcast } from "./live-broadcast.ts"
import { reasons } from "./reasons.ts"

export default definePlugin({
  id: "action-live-broadcast",
  reasons,
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(liveBroadcast),
})
