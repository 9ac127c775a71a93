// The action type respond.
import { z } from "zod"
import { definePlugin } from "#core"
import { reasons } from "./reasons.ts"
import { respond } from "./respond.ts"

export default definePlugin({
  id: "action-respond",
  reasons,
  needs: ["outgoing-http"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(respond),
})
