// Checks of data before a pipeline step sends it to another system. The data was received earlier.
import { type Json, token } from "#core"

/** Throws if the data must not be sent. `dataSince`: when the data was received, RFC 3339. */
export type DataGuard = (organization: string, data: readonly Json[], dataSince: string) => Promise<void>

export interface DataGuards {
  /** To be called while services are created. */
  use(guard: DataGuard): void
  /** Throws what a guard throws. Data of this moment needs no check: `dataSince` is undefined. */
  require(organization: string, data: readonly Json[], dataSince: string | undefined): Promise<void>
}

export const DataGuards = token<DataGuards>("DataGuards")

export function createDataGuards(): DataGuards {
  const guards: DataGuard[] = []
  return {
    use: (guard) => void guards.push(guard),
    async require(organization, data, dataSince) {
      if (dataSince !== undefined) for (const guard of guards) await guard(organization, data, dataSince)
    },
  }
}
