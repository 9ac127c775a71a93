// Earlier chat app addresses of a person: phone numbers before a change, and user IDs of people with a number. Messages at an
// earlier address belong to the conversation at the present address.
import { type Deps, type Document, defineCollection, derivedUuid, Store, type UnitOfWork } from "#core"
import { personKey, writtenAs } from "./phone.ts"

/** An earlier address. A number may later belong to another person, so a change of number has a time. */
interface EarlierAddress extends Document {
  from: string
  to: string
  /** Messages until this time belong to the person at `to`. Null: all messages. */
  until: string | null
}

export const EarlierAddressCollection = defineCollection<EarlierAddress>()({
  name: "chatapp_earlier_addresses",
  scope: "organization",
  audit: "size",
  times: ["until"],
  indexes: [{ fields: ["from"] }, { fields: ["to"] }],
})

/** Limit of steps along a chain of address changes. */
const maxSteps = 8
const page = 200

export type Change = Pick<EarlierAddress, "from" | "to" | "until">

export class EarlierAddresses {
  static readonly inject = { store: Store }
  readonly #store: Store

  constructor({ store }: Deps<typeof EarlierAddresses.inject>) {
    this.#store = store
  }

  /** Stages a change. The newest change of an address wins. */
  stage(work: UnitOfWork, organization: string, { from, to, until }: Change): void {
    work.in(EarlierAddressCollection, organization).update(idOf(organization, from), { $set: { from, to, until } }, { upsert: true })
  }

  /** Loads the changes of these addresses and of the addresses they lead to. `more`: changes not stored yet. */
  async known(organization: string, addresses: readonly string[], more: readonly Change[] = []): Promise<KnownAddresses> {
    const found = new Map(more.map((change) => [personKey(change.from), change]))
    const asked = new Set<string>()
    let next = [...addresses, ...more.map(({ to }) => to)]
    for (let step = 0; step < maxSteps && next.length > 0; step++) {
      const ids = [...new Set(next.map((address) => idOf(organization, address)))].filter((id) => !asked.has(id))
      if (ids.length === 0) break
      for (const id of ids) asked.add(id)
      const stored = await this.#store.open(EarlierAddressCollection, organization).find({ id: { $in: ids } }, { limit: ids.length })
      for (const one of stored) if (!found.has(personKey(one.from))) found.set(personKey(one.from), one)
      next = stored.map(({ to }) => to)
    }
    return new KnownAddresses(found)
  }

  /** Stages the removal of all changes with this address, at most a page. Returns false if no change is left. */
  async stageRemoval(work: UnitOfWork, organization: string, address: string): Promise<boolean> {
    const theirs = writtenAs([address])
    const open = this.#store.open(EarlierAddressCollection, organization)
    const found = [...(await open.find({ from: theirs }, { limit: page })), ...(await open.find({ to: theirs }, { limit: page }))]
    for (const { id } of found) work.in(EarlierAddressCollection, organization).remove(id, { optional: true })
    return found.length > 0
  }
}

/** Loaded earlier addresses. */
export class KnownAddresses {
  readonly #byKey: ReadonlyMap<string, Change>

  constructor(byKey: ReadonlyMap<string, Change>) {
    this.#byKey = byKey
  }

  /** Returns the stored change of an address. */
  changeOf(address: string): Change | undefined {
    return this.#byKey.get(personKey(address))
  }

  /** Returns the present address of the person at `address` at this time. */
  at(address: string, time: string): string {
    let present = address
    for (let step = 0; step < maxSteps; step++) {
      const change = this.changeOf(present)
      if (!change || (change.until !== null && time > change.until)) return present
      present = change.to
    }
    return present
  }
}

function idOf(organization: string, address: string): string {
  return derivedUuid("earlier chat address", organization, personKey(address))
}
