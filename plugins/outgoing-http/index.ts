// Everything that leaves the service over HTTP goes through the one client offered here, so that no pipeline, app or
// page can be talked into reaching what only this machine can reach.

import { z } from "zod"
import { definePlugin, Outside, Settings } from "#core"
import { createOutgoingHttp, OutgoingHttp } from "./client.ts"
import { reasons } from "./reasons.ts"
import { createOutgoingSockets, OutgoingSockets } from "./sockets.ts"

export { OutgoingHttp, type OutgoingRequest, type OutgoingResponse } from "./client.ts"
export { checkHeaders, refusedHeaders } from "./headers.ts"
export { type Outcome, outcomeOf } from "./outcome.ts"
export { type EncodedBody, encodeBody, withQuery } from "./request-body.ts"
export { OutgoingSockets } from "./sockets.ts"

export default definePlugin({
  id: "outgoing-http",
  reasons,
  config: z.strictObject({}),
  register(registrar) {
    registrar.provide(OutgoingHttp, {
      inject: { settings: Settings, outside: Outside },
      create: ({ settings, outside }) => createOutgoingHttp(settings.outgoing, undefined, outside.capture),
      stop: (client) => client.close(),
    })
    registrar.provide(OutgoingSockets, {
      inject: { settings: Settings },
      create: ({ settings }) => createOutgoingSockets(settings.outgoing),
    })
  },
})
