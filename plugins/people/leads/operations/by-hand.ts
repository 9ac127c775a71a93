// Operations for manual changes: merge leads, split a lead, and set the default country of numbers.
import { z } from "zod"
import { defineOperation, resultOf } from "#core"
import { personKey } from "../../conversations/index.ts"
import { normalEmail } from "../identity.ts"
import { Leads } from "../leads.ts"
import { mergeInto, splitOff } from "../merge-split.ts"
import { normalPhone } from "../phone-number.ts"
import { LeadRecords } from "../records.ts"
import { Region } from "../settings.ts"
import { Lead, LeadRef, made, shown } from "./leads.ts"

const writing = { scope: "leads:write", role: "member" } as const
const Note = z.string().trim().max(2_000).default("").describe("Why; kept in the history.")

export const mergeLeads = defineOperation({
  name: "leads.merge",
  summary: "Merge another lead into this one.",
  description: "Its addresses, numbers and all that happened with them are this lead's from then on. Its id goes on to name this lead.",
  http: { method: "POST", path: "/v1/leads/{lead_id}/merge" },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({ lead_id: LeadRef, other_lead_id: LeadRef, note: Note }),
  output: Lead,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: { lead: made, other: { operation: "leads.create", input: { phone: "+4930901820" } } },
      input: { lead_id: resultOf("lead.canonical_lead_id"), other_lead_id: resultOf("other.lead_reference") },
    },
  ],
  inject: { leads: Leads, records: LeadRecords },
  async handle({ input: { lead_id, other_lead_id, note }, caller, deps: { leads, records }, work }) {
    const organization = caller.organization.id
    const into = await leads.require(organization, lead_id)
    const from = await leads.require(organization, other_lead_id)
    return shown(await mergeInto(records, work, organization, into, from, { note, credential_id: caller.credential.id }))
  },
  onConflict: async ({ error }) => error,
})

export const splitLead = defineOperation({
  name: "leads.split",
  auditSize: ["emails", "phones"],
  summary: "Make a lead of its own of some of a lead's addresses and numbers.",
  description: "What happened with those is the new lead's from then on.",
  http: { method: "POST", path: "/v1/leads/{lead_id}/split" },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    lead_id: LeadRef,
    emails: z.array(z.string().trim().max(320)).max(100).default([]),
    phones: z.array(z.string().trim().max(40)).max(100).default([]),
    note: Note,
  }),
  output: z.object({ lead: Lead, split_off: Lead }),
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: { lead: { operation: "leads.create", input: { email: "grace@example.com", phone: "+4930901821" } } },
      input: { lead_id: resultOf("lead.canonical_lead_id"), phones: ["+4930901821"] },
    },
  ],
  inject: { leads: Leads, records: LeadRecords },
  async handle({ input: { lead_id, emails, phones, note }, caller, deps: { leads, records }, work }) {
    const organization = caller.organization.id
    const lead = await leads.require(organization, lead_id)
    const region = await leads.region(organization)
    const taken = {
      emails: [...new Set(emails.map((text) => normalEmail(text) ?? text))],
      phones: [...new Set(phones.map((text) => asWritten(lead.phones, normalPhone(text, region) ?? text)))],
    }
    const parts = await splitOff(records, work, organization, lead, taken, { note, credential_id: caller.credential.id })
    return { lead: shown(parts.lead), split_off: shown(parts.split_off) }
  },
  onConflict: async ({ error }) => error,
})

/** Returns the lead's spelling of the same number. */
function asWritten(phones: readonly string[], phone: string): string {
  return phones.find((one) => personKey(one) === personKey(phone)) ?? phone
}

const Settings = z.object({ default_region: z.string().describe("Country (ISO 3166-1); empty: numbers need their country code.") })

export const getSettings = defineOperation({
  name: "leads.get_settings",
  summary: "Read how the organization's leads are matched.",
  http: { method: "GET", path: "/v1/lead-settings" },
  access: { scope: "leads:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: Settings,
  errors: [],
  inject: { leads: Leads },
  handle: async ({ caller, deps: { leads } }) => ({ default_region: await leads.region(caller.organization.id) }),
})

export const setSettings = defineOperation({
  name: "leads.set_settings",
  summary: "Say of which country phone numbers are that are written without a country code.",
  description: "Of rows that are written from then on.",
  http: { method: "PUT", path: "/v1/lead-settings" },
  access: { scope: "leads:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ default_region: Region }),
  output: Settings,
  errors: ["invalid_argument"],
  examples: [{ input: { default_region: "DE" } }],
  inject: { leads: Leads },
  handle({ input: { default_region }, caller, deps: { leads }, work }) {
    leads.setRegion(work, caller.organization.id, default_region)
    return { default_region }
  },
})
