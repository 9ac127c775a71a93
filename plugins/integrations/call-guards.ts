// Who may forbid a call through a connection: an area that keeps connections to itself, say.
import { type AppError, token } from "#core"
import type { IntegrationRequest } from "./app.ts"

export interface GuardedCall {
  /** That calls; the connection may be lent to it. */
  readonly organization: string
  readonly connection: { readonly id: string; readonly slug: string }
  readonly request: IntegrationRequest
}

/** Why the call must not be made; undefined where it may. */
export type CallGuard = (call: GuardedCall) => Promise<AppError | undefined>

export interface CallGuards {
  /** To be called while services are created. */
  use(guard: CallGuard): void
  /** The first refusal. */
  refusal: CallGuard
}

export const CallGuards = token<CallGuards>("CallGuards")

export function createCallGuards(): CallGuards {
  const guards: CallGuard[] = []
  return {
    use: (guard) => void guards.push(guard),
    async refusal(call) {
      for (const guard of guards) {
        const refusal = await guard(call)
        if (refusal) return refusal
      }
      return undefined
    },
  }
}
