// What conversations ask of leads: who a number is, and which numbers a lead has.
import type { LeadDirectory, LeadOfAddress } from "../conversations/index.ts"
import type { Leads } from "./leads.ts"
import { referenceOf } from "./reference.ts"

export function leadDirectory(leads: Leads): LeadDirectory {
  return {
    async ofAddresses(organization, addresses) {
      if (addresses.length === 0) return new Map()
      const found = await leads.ofIdentities(
        organization,
        addresses.map((value) => ({ kind: "phone", value })),
      )
      const known = addresses.flatMap((address, index): [string, LeadOfAddress][] => {
        const lead = found[index]
        return lead
          ? [[address, { canonical_lead_id: lead.id, lead_reference: referenceOf(lead.id), time_zone: lead.time_zone ?? "" }]]
          : []
      })
      return new Map(known)
    },
    seen: (organization, { address, name, at }) => leads.seen(organization, { phone: address, name, at }),
    addressesOf: async (organization, ref) => (await leads.find(organization, ref))?.phones ?? [],
  }
}
