// Everything that leaves the service over HTTP goes through the one client offered here, so that no pipeline, app or
// page can be talked into reaching what only this machine can reach.

import { z } from "zod"
import { definePlugin, Settings } from "#core"
import { createOutgoingHttp, OutgoingHttp } from "./client.ts"

export { OutgoingHttp, type OutgoingRequest, type OutgoingResponse } from "./client.ts"
export { checkHeaders, refusedHeaders } from "./headers.ts"
export { type Outcome, outcomeOf } from "./outcome.ts"
export { type EncodedBody, encodeBody, withQuery } from "./request-body.ts"

export default definePlugin({
  id: "outgoing-http",
  config: z.strictObject({}),
  register(registrar) {
    registrar.provide(OutgoingHttp, {
      inject: { settings: Settings },
      create: ({ settings }) => createOutgoingHttp(settings.outgoing),
      stop: (client) => client.close(),
    })
  },
})
