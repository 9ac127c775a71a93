// The opt-out ledger of a channel: append-only entries with evidence, and a state per person from the newest entry. Both are
// written without a read, so entries may arrive in any order and repeatedly.
import { Clock, type Deps, type Document, derivedUuid, type Json, Store, timestamp, type UnitOfWork, type UnitsOfWork } from "#core"
import { Announcements } from "../announcements.ts"
import { type Channel, collections } from "../channels.ts"
import { personKey, writtenAs } from "../phone.ts"

export const optOutSources = ["keyword", "provider", "link", "carrier_error", "operation"] as const

/** Reason for an entry. */
export interface Evidence {
  source: (typeof optOutSources)[number]
  /** Message id of this service. Null if the entry has no message. */
  message_id: string | null
  /** Words of the person, the provider or the caller. */
  wording: string
  /** The recording credential. */
  recorded_by: string | null
}

export interface OptOutEntry extends Document, Evidence {
  address: string
  kind: "opt_out" | "opt_in"
  /** Time of the person's statement. */
  at: string
  recorded_at: string
}

export interface OptOutState extends Document {
  values: Record<string, Json>
  created_at: string
  updated_at: string
}

export interface NewEntry extends Evidence {
  readonly address: string
  readonly kind: OptOutEntry["kind"]
  readonly at: string
  /** Identifies the entry, so a repeat has no effect. */
  readonly identity: string
}

const maxForgotten = 200

export class OptOuts {
  static readonly inject = { store: Store, clock: Clock, announcements: Announcements }
  readonly #store: Store
  readonly #clock: Clock
  readonly #announcements: Announcements

  constructor({ store, clock, announcements }: Deps<typeof OptOuts.inject>) {
    this.#store = store
    this.#clock = clock
    this.#announcements = announcements
  }

  /** Stages an entry. A repeat changes no data. An opt-out wins over an opt-in of the same time. */
  stage(work: UnitOfWork, organization: string, channel: Channel, { identity, ...entry }: NewEntry): OptOutEntry {
    const { ledger, states } = collections[channel]
    const recorded_at = timestamp(this.#clock.now())
    const id = entryId(organization, channel, entry.kind, identity)
    const stored = { id, ...entry, recorded_at }
    work.in(ledger, organization).insert(stored, { ifPresent: "keep" })
    const values = { suppressed: entry.kind === "opt_out", entry_id: id }
    const doc = { id: stateId(organization, channel, entry.address), values, created_at: recorded_at, updated_at: recorded_at }
    work.write({ kind: "newest_wins", collection: states, organization, doc, position: `${entry.at} ${values.suppressed ? 1 : 0} ${id}` })
    this.#announcements.stage(work, { organization, channel }, entry.kind, { opt_out_id: id })
    return stored
  }

  /** Returns the time of the same entry if already staged. A provider without times repeats a delivery with a later time. */
  async saidAt(
    organization: string,
    channel: Channel,
    { kind, identity }: Pick<NewEntry, "kind" | "identity">,
  ): Promise<string | undefined> {
    return (await this.#store.open(collections[channel].ledger, organization).get(entryId(organization, channel, kind, identity)))?.at
  }

  /** Returns the opt-out state of a person for the channel's gate, with the deciding entry. */
  async standing(
    organization: string,
    channel: Channel,
    address: string,
  ): Promise<{ suppressed: boolean; entry: OptOutEntry | undefined }> {
    const { ledger, states } = collections[channel]
    const state = await this.#store.open(states, organization).get(stateId(organization, channel, address))
    if (!state) return { suppressed: false, entry: undefined }
    const entry = await this.#store.open(ledger, organization).get(String(state.values["entry_id"]))
    return { suppressed: state.values["suppressed"] === true, entry }
  }

  /** Removes a person's entries from the ledger. The call may repeat. */
  async forget(organization: string, channel: Channel, address: string, works: UnitsOfWork): Promise<void> {
    const { ledger, states } = collections[channel]
    const theirs = { address: writtenAs([address]) }
    for (let isFirst = true; ; isFirst = false) {
      const found = await this.#store.open(ledger, organization).find(theirs, { limit: maxForgotten })
      if (found.length === 0 && !isFirst) return
      await works.run((work) => {
        for (const { id } of found) work.in(ledger, organization).remove(id, { optional: true })
        work.in(states, organization).remove(stateId(organization, channel, address), { optional: true })
      })
    }
  }

  /** Returns the opted-out addresses among these. */
  async suppressed(organization: string, channel: Channel, addresses: readonly string[]): Promise<ReadonlySet<string>> {
    if (addresses.length === 0) return new Set()
    const idOf = (address: string) => stateId(organization, channel, address)
    const ids = [...new Set(addresses.map(idOf))]
    const found = await this.#store.open(collections[channel].states, organization).find({ id: { $in: ids } }, { limit: ids.length })
    const refusing = new Set(found.filter(({ values }) => values["suppressed"] === true).map(({ id }) => id))
    return new Set(addresses.filter((address) => refusing.has(idOf(address))))
  }
}

function entryId(organization: string, channel: Channel, kind: OptOutEntry["kind"], identity: string): string {
  return derivedUuid("opt-out entry", organization, channel, kind, identity)
}

function stateId(organization: string, channel: Channel, address: string): string {
  return derivedUuid("opt-out state", organization, channel, personKey(address))
}

const codes: Readonly<Record<Channel, ReadonlySet<string>>> = {
  // "User has stopped receiving marketing messages", of Meta's Cloud API.
  chat_app: new Set(["131050"]),
  // "Attempt to send to unsubscribed recipient", of Twilio.
  sms: new Set(["21610"]),
}

/** Returns true if the provider's error code stands for an opt-out. */
export function isCarrierOptOut(channel: Channel, code: string | undefined): boolean {
  return code !== undefined && codes[channel].has(code)
}
