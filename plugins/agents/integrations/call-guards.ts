// Guards for calls through a connection. An area with a connection of its own forbids other calls.
import { type AppError, defineExtensionPoint } from "#core"
import type { IntegrationRequest } from "./app.ts"

export interface GuardedCall {
  /** The calling organization. The connection may be lent to it. */
  readonly organization: string
  readonly connection: { readonly id: string; readonly slug: string }
  readonly request: IntegrationRequest
}

/** Returns the reason to refuse the call. */
export type CallGuard = (call: GuardedCall) => Promise<AppError | undefined>

export const CallGuards = defineExtensionPoint<CallGuard>({ id: "integrations.call-guards" })
