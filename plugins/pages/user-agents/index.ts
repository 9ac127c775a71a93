// Tells device, browser and in-app browser by the User-Agent of a request; the engine stamps them on what it stores.
import { z } from "zod"
import { definePlugin } from "#core"
import { UserAgents } from "#core/engine"
import { classifyUserAgent } from "./classify.ts"

export default definePlugin({
  id: "user-agents",
  config: z.strictObject({}),
  register: (registrar) => registrar.provide(UserAgents, { create: () => classifyUserAgent }),
})
