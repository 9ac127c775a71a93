// Classifies the User-Agent of a request. The engine stamps device, browser and in-app browser on stored events.
import { z } from "zod"
import { definePlugin } from "#core"
import { UserAgents } from "#core/engine"
import { classifyUserAgent } from "./classify.ts"

export default definePlugin({
  id: "user-agents",
  config: z.strictObject({}),
  register: (registrar) => registrar.provide(UserAgents, { create: () => classifyUserAgent }),
})
