// Checks of data before a pipeline step sends it to another system. The data was received earlier.
import { defineExtensionPoint, type Json } from "#core"

/** Throws if the data must not be sent. `dataSince`: when the data was received, RFC 3339. */
export type DataGuard = (organization: string, data: readonly Json[], dataSince: string) => Promise<void>

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
