// The action type http.request.
import { z } from "zod"
import { definePlugin } from "#core"
import { httpRequest } from "./http-request.ts"

export default definePlugin({
  id: "action-http-request",
  needs: ["outgoing-http"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(httpRequest),
})
