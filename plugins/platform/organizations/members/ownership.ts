// The transfer of ownership: an owner offers, the new owner accepts. The old owner becomes an admin, or stays an owner.
import {
  AppError,
  type Caller,
  Clock,
  type Deps,
  type Document,
  defineCollection,
  derivedUuid,
  Store,
  timestamp,
  type UnitOfWork,
} from "#core"
import { Members } from "./members.ts"

export interface OwnershipOffer extends Document {
  from_user_id: string
  to_user_id: string
  /** The offering owner stays an owner. */
  stay_owner: boolean
  created_at: string
  expires_at: string
}

export const OwnershipOffersCollection = defineCollection<OwnershipOffer>()({
  name: "ownership_offers",
  scope: "organization",
  times: ["created_at", "expires_at"],
  indexes: [{ fields: ["-created_at"] }],
  expires: "expires_at",
})
const validMs = 7 * 86_400_000

export class Ownership {
  static readonly inject = { store: Store, clock: Clock, members: Members }
  readonly #deps: Deps<typeof Ownership.inject>

  constructor(deps: Deps<typeof Ownership.inject>) {
    this.#deps = deps
  }

  /** Stages the offer for a member. Replaces an earlier offer. */
  async offer(work: UnitOfWork, organization: string, offer: Pick<OwnershipOffer, "from_user_id" | "to_user_id" | "stay_owner">) {
    const { clock, members } = this.#deps
    if (offer.from_user_id === offer.to_user_id) {
      const fields = [{ path: "user_id", message: "is your own; name another member" }]
      throw new AppError("invalid_argument", "user_id: is your own; name another member.", { reason: "invalid_fields", fields })
    }
    await members.require(organization, offer.to_user_id)
    const now = clock.now()
    const fields = { ...offer, created_at: timestamp(now), expires_at: timestamp(now + validMs) }
    const id = offerId(organization, offer.to_user_id)
    work.in(OwnershipOffersCollection, organization).update(id, { $set: fields }, { upsert: true })
    return { id, ...fields }
  }

  /** Reads an offer by its recipient. Throws `not_found`, also if the offering person is no longer an owner. */
  async require(organization: string, user: string): Promise<OwnershipOffer> {
    const { store, clock, members } = this.#deps
    const offer = await store.open(OwnershipOffersCollection, organization).get(offerId(organization, user))
    const isValid = offer && Date.parse(offer.expires_at) > clock.now()
    if (isValid && (await members.find(organization, offer.from_user_id))?.role === "owner") return offer
    const message = "No ownership of this organization is offered to you; ask an owner for an offer."
    throw new AppError("not_found", message, { reason: "ownership_offer_not_found" })
  }

  withdraw(work: UnitOfWork, organization: string, { id, created_at }: OwnershipOffer): void {
    work.in(OwnershipOffersCollection, organization).remove(id, { where: { created_at } })
  }

  /** Stages the new owner, and the new role of the old owner. */
  async accept(work: UnitOfWork, caller: Caller, offer: OwnershipOffer): Promise<void> {
    const { members } = this.#deps
    const organization = caller.organization.id
    const taker = await members.require(organization, offer.to_user_id)
    const giver = await members.require(organization, offer.from_user_id)
    this.withdraw(work, organization, offer)
    await members.transfer(work, organization, taker, offer.stay_owner ? undefined : giver)
  }
}

/** A user has one offer of an organization. */
export function offerId(organization: string, user: string): string {
  return derivedUuid("ownership offer", organization, user)
}
