// Checks that other areas make before a step of a pipeline calls another system with data that was received earlier.
import { type Json, token } from "#core"

/** Throws if the call must not be made. `dataSince`: when the data was received, RFC 3339. */
export type CallGuard = (organization: string, data: readonly Json[], dataSince: string) => Promise<void>

export interface CallGuards {
  use(guard: CallGuard): void
  /** Throws what a guard throws. Data of this moment needs no check: `dataSince` is undefined. */
  require(organization: string, data: readonly Json[], dataSince: string | undefined): Promise<void>
}

export const CallGuards = token<CallGuards>("CallGuards")

export function createCallGuards(): CallGuards {
  const guards: CallGuard[] = []
  return {
    use: (guard) => void guards.push(guard),
    async require(organization, data, dataSince) {
      if (dataSince !== undefined) for (const guard of guards) await guard(organization, data, dataSince)
    },
  }
}
