// What leaves the service: mail and calls to other systems. A running service sends them; where one is tried out or
// tested they are handed to a capture instead, after everything that the service itself does to them.
import { type Service, token } from "../kernel/di.ts"

/** A mail, as it would leave the service. */
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

/** A call to another system, as it would leave the service. */
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

/** Both may throw, as a mail server or a peer that cannot be reached would have it; both end when the sender's signal says so. */
export interface OutgoingCapture {
  mail(mail: OutgoingMail, signal?: AbortSignal): Promise<void> | void
  call(call: OutgoingCall, signal?: AbortSignal): Promise<CallResponse> | CallResponse
}

/** Whether mail and calls leave the service, or are kept where it is tried out or tested. */
export interface Outgoing {
  /** undefined in a running service: mail and calls are sent. */
  readonly capture: OutgoingCapture | undefined
}

export const Outgoing = token<Outgoing>("Outgoing")

// Libraries that send mail and calls. The import of a large library holds the main thread for 50 to 150 ms, so a service
// imports its libraries before it listens. Commands and services with a capture skip the import.

/** For `registrar.run`. Later imports of the same libraries resolve at once. */
export function importedAtStart(load: () => Promise<unknown>): Service<Outgoing, { outgoing: typeof Outgoing }> {
  return {
    inject: { outgoing: Outgoing },
    create: ({ outgoing }) => outgoing,
    async start({ capture }) {
      if (!capture) await load()
    },
  }
}
