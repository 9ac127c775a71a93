// Finds phone numbers of an organization.
import { type Deps, Store } from "#core"
import { numberId, type PhoneNumber, PhoneNumberResource } from "./phone-number.ts"

export class PhoneNumbers {
  static readonly inject = { store: Store }
  readonly #store: Store

  constructor({ store }: Deps<typeof PhoneNumbers.inject>) {
    this.#store = store
  }

  find(organization: string, number: string): Promise<PhoneNumber | undefined> {
    return PhoneNumberResource.items.find(this.#store, organization, number)
  }

  /** As `find`; throws `not_found`. */
  require(organization: string, number: string): Promise<PhoneNumber> {
    return PhoneNumberResource.items.require(this.#store, organization, number)
  }

  /** The registered ones of these numbers, by number. */
  async among(organization: string, numbers: readonly string[]): Promise<ReadonlyMap<string, PhoneNumber>> {
    if (numbers.length === 0) return new Map()
    const ids = [...new Set(numbers)].map((number) => numberId(organization, number))
    const found = await this.#store.open(PhoneNumberResource.collection, organization).find({ id: { $in: ids } }, { limit: ids.length })
    return new Map(found.map((one) => [one.number, one]))
  }
}
