// The action type respond.

import { z } from "zod"
import { definePlugin } from "#core"
import { respond } from "./respond.ts"

export default definePlugin({
  id: "action-respond",
  needs: ["outgoing-http"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(respond),
})
