// The opt-out ledger of a channel: entries that are only ever added, each with its evidence, and per person the state that
// the newest entry leaves. Both are written without reading, so that entries may arrive in any order, and twice.
import { Clock, type Deps, type Document, derivedUuid, type Json, Store, timestamp, type UnitOfWork, type UnitsOfWork } from "#core"
import { Announcements } from "../announcements.ts"
import { type Channel, collections } from "../channels.ts"
import { personKey, writtenAs } from "../phone.ts"

export const optOutSources = ["keyword", "provider", "link", "carrier_error", "operation"] as const

/** Why an entry was made. */
export interface Evidence {
  source: (typeof optOutSources)[number]
  /** Of this service; null where no message is behind it. */
  message_id: string | null
  /** What the person, the provider or the caller said. */
  wording: string
  /** The credential that recorded it. */
  recorded_by: string | null
}

export interface OptOutEntry extends Document, Evidence {
  address: string
  kind: "opt_out" | "opt_in"
  /** When it was said. */
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
  /** What makes the entry the same when it is recorded again. */
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

  /** Stages an entry; the same one again changes nothing. Of two at one time, the opt-out holds. */
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

  /** When it was said, where the same was staged before: a provider that gives no times delivers again at a later one. */
  async saidAt(
    organization: string,
    channel: Channel,
    { kind, identity }: Pick<NewEntry, "kind" | "identity">,
  ): Promise<string | undefined> {
    return (await this.#store.open(collections[channel].ledger, organization).get(entryId(organization, channel, kind, identity)))?.at
  }

  /** What the channel's gate obeys of a person, and the entry that says so. */
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

  /** Removes what the ledger has of a person; may be run again. */
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

  /** Who of them must not be written to. */
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

/** Errors by which a provider says that the person does not want to be written to. */
export function isCarrierOptOut(channel: Channel, code: string | undefined): boolean {
  return code !== undefined && codes[channel].has(code)
}
