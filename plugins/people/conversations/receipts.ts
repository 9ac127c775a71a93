// How far a sent message is. Providers report in any order and more than once, so that the state is the highest of all
// reports in one order, whichever came first.
import { type Document, derivedUuid } from "#core"
import type { Channel } from "./channels.ts"
import type { DeliveryError } from "./messages.ts"

/**
 * Lowest first. A report by the provider is above what this service knows by itself; that a message was delivered is above
 * that it failed.
 */
export const deliveryStates = [
  ...["received", "queued", "sending", "unknown", "refused", "accepted", "sent", "failed", "delivered", "read"],
] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** One report about a message that was sent. */
export interface Receipt extends Document {
  provider_id: string
  /** The message's own id, where the provider repeats it. */
  message_id: string | null
  state: DeliveryState
  at: string
  error: DeliveryError | null
  expires_at: string
}

export function receiptId(
  organization: string,
  channel: Channel,
  { provider_id, state, error }: Omit<Receipt, "id" | "at" | "expires_at">,
): string {
  return derivedUuid("conversation receipt", organization, channel, provider_id, state, ...(error ? [textOf(error)] : []))
}

type Known = Pick<Receipt, "state" | "error">

/** The highest of what is known; of several at one height, a report, and always the same one. The error is that of a failure that stands. */
export function joined(known: Known, reports: readonly Known[]): Known {
  const rank = ({ state }: Known) => deliveryStates.indexOf(state)
  const inOrder = [...reports].sort((a, b) => rank(b) - rank(a) || (textOf(a.error) < textOf(b.error) ? -1 : 1))
  const [highest] = inOrder
  const { state, error } = highest && rank(highest) >= rank(known) ? highest : known
  return { state, error }
}

function textOf(error: DeliveryError | null): string {
  return error ? `${error.code} ${error.message}` : ""
}
