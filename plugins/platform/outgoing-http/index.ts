// Everything that leaves the service over HTTP goes through the one client offered here, so that no pipeline, app or
// page can be talked into reaching what only this machine can reach.
import { z } from "zod"
import { Clock, definePlugin, OutgoingHttp, Settings, token } from "#core"
import { Destinations, importedAtStart, Outgoing } from "#core/engine"
import { createOutgoingHttp, type OutgoingClient } from "./client.ts"
import { DataGuards } from "./data-guards.ts"
import { reasons } from "./reasons.ts"
import { createOutgoingSockets, OutgoingSockets } from "./sockets.ts"

export { type DataGuard, DataGuards, guardData } from "./data-guards.ts"
export { checkHeaders, refusedHeaders } from "./headers.ts"
export { asOrganization } from "./organization.ts"
export { outcomeOf } from "./outcome.ts"
export { encodeBody, withQuery } from "./request-body.ts"
export { OutgoingSockets } from "./sockets.ts"

const Client = token<OutgoingClient>("outgoing HTTP client")

export default definePlugin({
  id: "outgoing-http",
  reasons,
  config: z.strictObject({}),
  extensionPoints: [DataGuards],
  register(registrar) {
    registrar.provide(Client, {
      inject: { settings: Settings, outgoing: Outgoing, clock: Clock, destinations: Destinations },
      create: ({ settings, outgoing, ...deps }) => createOutgoingHttp(settings.outgoing, undefined, outgoing.capture, deps),
      stop: (client) => client.close(),
    })
    registrar.run(
      "library",
      importedAtStart(() => import("undici")),
    )
    registrar.provide(OutgoingHttp, { inject: { client: Client }, create: ({ client }) => client })
    registrar.provide(OutgoingSockets, {
      inject: { settings: Settings },
      create: ({ settings }) => createOutgoingSockets(settings.outgoing),
    })
  },
})
