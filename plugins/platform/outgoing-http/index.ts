// Everything that leaves the service over HTTP goes through the one client offered here, so that no pipeline, app or
// page can be talked into reaching what only this machine can reach.
import { z } from "zod"
import { Clock, defineExtensionPoint, definePlugin, type Json, OutgoingHttp, Settings, token } from "#core"
import { Destinations, importedAtStart, Outgoing } from "#core/engine"
import { createOutgoingHttp, type OutgoingClient } from "./client.ts"
import { createOutgoingSockets, OutgoingSockets } from "./guarded-connect.ts"
import { reasons } from "./reasons.ts"

export { asOrganization, outcomeOf } from "./client.ts"
export { OutgoingSockets } from "./guarded-connect.ts"
export { checkHeaders, refusedHeaders } from "./headers.ts"
export { encodeBody, withQuery } from "./request-body.ts"

/** Throws if the data must not be sent. `dataSince`: when the data was received, RFC 3339. */
export type DataGuard = (organization: string, data: readonly Json[], dataSince: string) => Promise<void>

/** Checks of data before a pipeline step sends it to another system. The data was received earlier. */
export const DataGuards = defineExtensionPoint<DataGuard>({ id: "outgoing-http.data-guards" })

/** Throws the first refusal. Data of this moment needs no check: `dataSince` is undefined. */
export async function guardData(
  guards: readonly DataGuard[],
  organization: string,
  data: readonly Json[],
  dataSince: string | undefined,
): Promise<void> {
  if (dataSince !== undefined) for (const guard of guards) await guard(organization, data, dataSince)
}

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
