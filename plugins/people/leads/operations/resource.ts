// A lead as answers show it.
import { z } from "zod"
import { Timestamp, Uuid } from "#core"
import type { StoredLead } from "../collections.ts"
import { referenceOf } from "../reference.ts"

export const LeadRef = z.string().trim().min(1).max(60).describe("UUID or 22-character reference.")

export const Lead = z
  .object({
    canonical_lead_id: Uuid,
    lead_reference: z.string().describe("The id in 22 characters."),
    name: z.string(),
    emails: z.array(z.string()).describe("In lower case, domains in punycode."),
    phones: z.array(z.string()).describe("E.164; an extension follows as `;ext=123`."),
    time_zone: z.string().describe("IANA; empty where it is not known."),
    possible_duplicates: z
      .array(Uuid)
      .describe("Leads that share an address or number with this one in some row; merge leads of one person."),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "Lead" })

export function shown(lead: StoredLead): z.input<typeof Lead> {
  const { id, name, emails, phones, time_zone = "", possible_duplicates, first_seen_at, last_seen_at, created_at, updated_at } = lead
  const ids = { canonical_lead_id: id, lead_reference: referenceOf(id) }
  return { ...ids, name, emails, phones, time_zone, possible_duplicates, first_seen_at, last_seen_at, created_at, updated_at }
}
