// Tracks a message with several recipients if the server accepts only some for now. The retry goes to the remaining recipients.
// Each recipient gets the message exactly once.
import { type Clock, type Document, defineCollection, type Store, timestamp, type UnitsOfWork } from "#core"
import { normalAddress } from "./addresses.ts"
import { type Delivery, DeliveryFailed, type Transport } from "./transport.ts"

interface PartialDelivery extends Document {
  /** Normalized addresses. */
  accepted: string[]
  expires_at: string
}

/** `id` is the Message-ID, the same for all tries. */
export const PartialDeliveryCollection = defineCollection<PartialDelivery>()({
  name: "partial_deliveries",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

/** Longer than the retries of any message. */
const keptMs = 30 * 86_400_000

export interface PartialDeliveryServices {
  readonly store: Store
  readonly work: UnitsOfWork
  readonly clock: Clock
}

export function resuming(transport: Transport, { store, work, clock }: PartialDeliveryServices): Transport {
  const keep = (id: string, accepted: readonly string[]) => {
    const $set = { accepted: accepted.map(normalAddress), expires_at: timestamp(clock.now() + keptMs) }
    return work.run((staged) => staged.in(PartialDeliveryCollection).update(id, { $set }, { upsert: true }))
  }
  return {
    async deliver(mail, signal) {
      const all = [...mail.to, ...mail.cc, ...mail.bcc].map(({ address }) => address)
      if (all.length === 1) return transport.deliver(mail, signal)
      const kept = await store.open(PartialDeliveryCollection).get(mail.messageId)
      const have = all.filter((address) => kept?.accepted.includes(normalAddress(address)))
      const left = all.filter((address) => !have.includes(address))
      if (left.length === 0) return { accepted: all, refusals: [] }
      const { accepted, refusals } = await delivered(
        () => transport.deliver(have.length === 0 ? mail : { ...mail, envelope_to: left }, signal),
        have.length > 0,
      )
      const nowHave = [...have, ...accepted]
      const deferred = refusals.filter(({ permanent }) => !permanent)
      if (deferred.length === 0) return { accepted: nowHave, refusals }
      await keep(mail.messageId, nowHave)
      const message = `The mail server took the message for ${nowHave.length} of ${all.length} recipients, and put off ${deferred.length} (${deferred[0]?.text}).`
      throw new DeliveryFailed(refusals, "unavailable", message, { reason: "mail_failed" })
    },
    close: () => transport.close(),
  }
}

/** Delivers the message. If some recipients already have the message, a refusal of all others does not count as a failed message. */
async function delivered(deliver: () => Promise<Delivery>, someHaveIt: boolean): Promise<Delivery> {
  try {
    return await deliver()
  } catch (error) {
    if (someHaveIt && error instanceof DeliveryFailed && error.details["retryable"] === false)
      return { accepted: [], refusals: error.refusals }
    throw error
  }
}
