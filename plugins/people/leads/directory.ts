// What conversations ask of leads: who a number is, and which numbers a lead has.
import type { LeadDirectory, LeadOfAddress } from "../conversations/index.ts"
import type { Leads } from "./leads.ts"
import { referenceOf } from "./reference.ts"

export function leadDirectory(leads: Leads): LeadDirectory {
  return {
    async ofAddresses(organization, addresses) {
      if (addresses.length === 0) return new Map()
      const found = await leads.idsOf(
        organization,
        addresses.map((value) => ({ kind: "phone", value })),
      )
      const known = addresses.flatMap((address, index): [string, LeadOfAddress][] => {
        const id = found[index]
        return id === undefined ? [] : [[address, { canonical_lead_id: id, lead_reference: referenceOf(id) }]]
      })
      return new Map(known)
    },
    timeZoneOf: async (organization, address) =>
      (await leads.ofIdentities(organization, [{ kind: "phone", value: address }]))[0]?.time_zone ?? "",
    seen: (organization, { address, name, at }, stage) => leads.seen(organization, { phone: address, name, at, stage }),
    addressesOf: async (organization, ref) => (await leads.find(organization, ref))?.phones ?? [],
  }
}
