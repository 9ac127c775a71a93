// Outgoing mail and calls. A running service sends them. In tests and trials a capture receives them, after all processing.
import { type Service, token } from "../kernel/di.ts"

/** A mail in its final form. */
export interface OutgoingMail {
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly reply_to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly message_id: string
  /** RFC 3339. */
  readonly at: string
}

/** A call to another system in its final form. */
export interface OutgoingCall {
  readonly method: string
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface CallResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Both methods may throw to simulate an unreachable mail server or peer. Both end when the sender's signal aborts. */
export interface OutgoingCapture {
  mail(mail: OutgoingMail, signal?: AbortSignal): Promise<void> | void
  call(call: OutgoingCall, signal?: AbortSignal): Promise<CallResponse> | CallResponse
}

/** Sends mail and calls, or passes them to a capture in trials and tests. */
export interface Outgoing {
  /** Undefined in a running service: mail and calls are sent. */
  readonly capture: OutgoingCapture | undefined
}

export const Outgoing = token<Outgoing>("Outgoing")

// Libraries for mail and calls. Importing a large library blocks the main thread for 50 to 150 ms, so a service imports its
// libraries before it listens. Commands and services with a capture skip the import.

/** A service for `registrar.run`. Later imports of the same libraries resolve at once. */
export function importedAtStart(load: () => Promise<unknown>): Service<Outgoing, { outgoing: typeof Outgoing }> {
  return {
    inject: { outgoing: Outgoing },
    create: ({ outgoing }) => outgoing,
    async start({ capture }) {
      if (!capture) await load()
    },
  }
}
