// The single client for outgoing HTTP. It keeps pipelines, apps and pages from reaching addresses private to this machine.
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

/** Throws if the data must not be sent. `dataSince`: time of receipt, RFC 3339. */
export type DataGuard = (organization: string, data: readonly Json[], dataSince: string) => Promise<void>

/** Checks earlier received data before a pipeline step sends it to another system. */
export const DataGuards = defineExtensionPoint<DataGuard>({ id: "outgoing-http.data-guards" })

/** Throws the first refusal. If `dataSince` is undefined, the data is new and needs no check. */
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
