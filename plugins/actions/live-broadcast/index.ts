// The action type live.broadcast.

import { z } from "zod"
import { definePlugin } from "#core"
import { liveBroadcast } from "./live-broadcast.ts"

export default definePlugin({
  id: "action-live-broadcast",
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(liveBroadcast),
})
