// Removes the data of an erased person from leads and their rows.
import { type Deps, Store, type UnitOfWork, UnitsOfWork } from "#core"
import { ChangeCollection, IdentityCollection, identityId, LeadCollection, type LeadRow, LeadRowCollection } from "./collections.ts"
import type { Identity } from "./identity.ts"
import { Leads } from "./leads.ts"
import { LeadRecords } from "./records.ts"

const maxForgotten = 200

export class LeadErasure {
  static readonly inject = { store: Store, works: UnitsOfWork, leads: Leads, records: LeadRecords }
  readonly #deps: Deps<typeof LeadErasure.inject>

  constructor(deps: Deps<typeof LeadErasure.inject>) {
    this.#deps = deps
  }

  /**
   * Stages the removal of an address or number from its lead and from all histories. A lead without other addresses loses its
   * name.
   */
  async forget(work: UnitOfWork, organization: string, identity: Identity): Promise<void> {
    const { store, leads, records } = this.#deps
    const [lead] = await leads.ofIdentities(organization, [identity])
    if (!lead) return
    const field = identity.kind === "email" ? "emails" : "phones"
    const id = identityId(organization, identity)
    // In the lead's spelling.
    const value = (await store.open(IdentityCollection, organization).get(id))?.value ?? identity.value
    const others = lead.emails.length + lead.phones.length - 1
    const nameless = others === 0 ? { name: "", time_zone: "" } : {}
    const kept = { [field]: lead[field].filter((one) => one !== value) }
    records.change(work, organization, lead, { ...kept, ...nameless })
    work.in(IdentityCollection, organization).remove(id)
    const family = await leads.family(organization, lead)
    const $pull = { [`created_with.${field}`]: value }
    for (const part of family) {
      const $set = part === lead.id ? {} : nameless
      work.in(LeadCollection, organization).update(part, { $set, $pull }, { optional: true })
    }
    const changes = store.open(ChangeCollection, organization).stream({ lead_id: { $in: family } })
    for await (const change of changes) work.in(ChangeCollection, organization).update(change.id, { $pull: { [field]: value } })
  }

  /** Returns rows about an address or number, at most `limit`. */
  rowsOf(organization: string, identity: Identity, limit: number): Promise<LeadRow[]> {
    const rows = this.#deps.store.open(LeadRowCollection, organization)
    return rows.find({ identity_id: identityId(organization, identity) }, { sort: { at: -1 }, limit })
  }

  /**
   * Detaches the rows from the person. The records remain, so the rows do not create a lead again. `more` adds to the commit of
   * each page. The call may repeat.
   */
  async forgetRows(organization: string, identity: Identity, more: (work: UnitOfWork, rows: LeadRow[]) => Promise<void>): Promise<void> {
    for (;;) {
      const found = await this.rowsOf(organization, identity, maxForgotten)
      if (found.length === 0) return
      await this.#deps.works.run(async (work) => {
        for (const { id } of found) work.in(LeadRowCollection, organization).update(id, { $set: { identity_id: "" } }, { optional: true })
        await more(work, found)
      })
    }
  }
}
