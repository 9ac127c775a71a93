// Delivery states of a sent message. Providers report in any order and repeatedly. The result is the highest reported state,
// independent of the order.
import { type Document, derivedUuid } from "#core"
import type { Channel } from "./channels.ts"
import type { DeliveryError } from "./messages.ts"

/** Lowest first. A provider's report ranks above the service's own states. Delivered ranks above failed. */
export const deliveryStates = [
  ...["received", "queued", "sending", "unknown", "refused", "accepted", "sent", "failed", "delivered", "read"],
] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** A report about a sent message. */
export interface Receipt extends Document {
  provider_id: string
  /** The message's own id, if the provider returns it. */
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

/** Returns the highest known state. At equal rank a report wins, in a stable order. The error belongs to the resulting failure. */
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
