// The service behind phone numbers.
import { AppError, type Clock, changesOf, type Store, timestamp, token, type UnitOfWork } from "#core"
import type { Integrations } from "../../../agents/integrations/index.ts"
import { numberId, type PhoneNumber, PhoneNumberCollection } from "./collections.ts"

type Given = Pick<PhoneNumber, "agent_ref" | "name" | "chat_app" | "sms">

interface Services {
  readonly store: Store
  readonly clock: Clock
  readonly integrations: Integrations
}

export class PhoneNumbers {
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  find(organization: string, number: string): Promise<PhoneNumber | undefined> {
    return this.#services.store.open(PhoneNumberCollection, organization).get(numberId(organization, number))
  }

  /** As `find`; throws `not_found`. */
  async require(organization: string, number: string): Promise<PhoneNumber> {
    const found = await this.find(organization, number)
    if (found) return found
    const message = `The organization has not registered the number ${number}; GET /v1/voice/phone-numbers lists its numbers.`
    throw new AppError("not_found", message, { reason: "phone_number_not_found" })
  }

  /** Those of them that are registered, by number. */
  async among(organization: string, numbers: readonly string[]): Promise<ReadonlyMap<string, PhoneNumber>> {
    if (numbers.length === 0) return new Map()
    const ids = [...new Set(numbers)].map((number) => numberId(organization, number))
    const found = await this.#services.store.open(PhoneNumberCollection, organization).find({ id: { $in: ids } }, { limit: ids.length })
    return new Map(found.map((one) => [one.number, one]))
  }

  async register(work: UnitOfWork, organization: string, { number, ...given }: Given & { number: string }): Promise<PhoneNumber> {
    if (await this.find(organization, number))
      throw new AppError("already_exists", `The organization has registered ${number} already.`, { reason: "phone_number_registered" })
    await this.#check(organization, given)
    const at = timestamp(this.#services.clock.now())
    const stored = { id: numberId(organization, number), number, ...given, revision: 1, created_at: at, updated_at: at }
    work.in(PhoneNumberCollection, organization).insert(stored)
    return stored
  }

  /** Stages a change made for the number as read; one made meanwhile has the commit `aborted`. */
  async update(work: UnitOfWork, organization: string, stored: PhoneNumber, given: Partial<Given>): Promise<PhoneNumber> {
    await this.#check(organization, given)
    const changed = { ...stored, ...given, revision: stored.revision + 1, updated_at: timestamp(this.#services.clock.now()) }
    const { revision, updated_at } = changed
    const set = changesOf({ ...given, revision, updated_at })
    work.in(PhoneNumberCollection, organization).update(stored.id, { $set: set }, { where: { revision: stored.revision } })
    return changed
  }

  remove(work: UnitOfWork, organization: string, stored: PhoneNumber): void {
    work.in(PhoneNumberCollection, organization).remove(stored.id, { where: { revision: stored.revision } })
  }

  async #check(organization: string, { chat_app, sms }: Partial<Given>): Promise<void> {
    for (const [field, line] of [
      ["chat_app", chat_app],
      ["sms", sms],
    ] as const) {
      if (!line || (await this.#services.integrations.find(organization, line.integration))) continue
      const message = `No integration ${JSON.stringify(line.integration)} is connected for the organization; connect one with share_with_org.`
      const fields = [{ path: `${field}.integration`, message: "is not connected" }]
      throw new AppError("invalid_argument", message, { reason: "number_connection_missing", fields })
    }
  }
}

export const PhoneNumbersToken = token<PhoneNumbers>("PhoneNumbers")
