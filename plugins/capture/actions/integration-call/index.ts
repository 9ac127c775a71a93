// The action type integration.call.
import { z } from "zod"
import { definePlugin } from "#core"
import { integrationCall } from "./integration-call.ts"

export default definePlugin({
  id: "action-integration-call",
  needs: ["integrations", "outgoing-http"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(integrationCall),
})
