// Operations to find leads, read a lead, and read its timeline.
import { z } from "zod"
import { AnyJson, AppError, defineList, defineOperation, Pager, pageInput, resultOf, Timestamp, Uuid } from "#core"
import { isTimeZone } from "../../../platform/organizations/index.ts"
import { LeadCollection, referenceOf, type StoredLead } from "../collections.ts"
import { normalEmail } from "../identity.ts"
import { Leads } from "../leads.ts"
import { normalPhone } from "../phone-number.ts"
import { LeadTimeline, timelineOf } from "../timeline/sources.ts"

/** Output schema of a lead. */
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

const path = "/v1/leads"
const reading = { scope: "leads:read", role: "member" } as const
const hints = { readOnly: true, destructive: false, idempotent: true } as const

export const made = { operation: "leads.create", input: { email: "ada@example.com", name: "Ada Lovelace" } }
const thatLead = { given: { lead: made }, input: { lead_id: resultOf("lead.canonical_lead_id") } }

export const createLead = defineOperation({
  name: "leads.create",
  summary: "Add a lead by hand: the one that has the address or number already, or a new one.",
  description: "The address decides. A number whose lead has another address makes no match: the two are possible duplicates.",
  auditSize: ["email", "phone", "name"],
  http: { method: "POST", path },
  access: { scope: "leads:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject({
    email: z.string().trim().max(320).default(""),
    phone: z.string().trim().max(40).default("").describe("With its country code, or as the organization's region writes it."),
    name: z.string().trim().max(200).default(""),
    time_zone: z
      .string()
      .trim()
      .max(60)
      .default("")
      .refine((zone) => zone === "" || isTimeZone(zone), "expected an IANA time zone, such as Europe/Berlin")
      .describe("Where the person is: quiet hours are those of this zone. Empty: as it was."),
  }),
  output: Lead,
  errors: ["invalid_argument", "aborted"],
  examples: [{ input: made.input }],
  inject: { leads: Leads },
  async handle({ input, caller, deps: { leads }, work }) {
    const organization = caller.organization.id
    const email = input.email === "" ? undefined : normalEmail(input.email)
    const phone = input.phone === "" ? undefined : normalPhone(input.phone, await leads.region(organization))
    if (input.email !== "" && email === undefined) throw unreadable("email", "is not a mail address")
    if (input.phone !== "" && phone === undefined)
      throw unreadable("phone", "is not a phone number with its country code, or of the region")
    if (email === undefined && phone === undefined) throw unreadable("email", "and phone are empty; give one")
    return shown(await leads.add(work, organization, { email, phone, name: input.name, time_zone: input.time_zone }))
  },
  onConflict: async ({ error }) => error,
})

export const listLeads = defineList({
  name: "leads.list",
  summary: "List the organization's leads, the last seen first.",
  path,
  access: reading,
  columns: ["name", "emails", "phones", "last_seen_at", "lead_reference"],
  input: {
    email: z.string().trim().max(320).default("").describe("Only the lead of this address."),
    phone: z.string().trim().max(40).default("").describe("Only the lead of this number."),
  },
  inject: { leads: Leads },
  collection: LeadCollection,
  async where({ email, phone }, { organization, deps: { leads } }) {
    if (email === undefined && phone === undefined) return { merged_into: null }
    const region = await leads.region(organization)
    const wanted = [
      ...(email === undefined ? [] : [{ kind: "email" as const, value: normalEmail(email) ?? "" }]),
      ...(phone === undefined ? [] : [{ kind: "phone" as const, value: normalPhone(phone, region) ?? "" }]),
    ]
    const [first, ...rest] = await leads.ofIdentities(organization, wanted)
    const isOne = first !== undefined && rest.every((lead) => lead?.id === first.id)
    return { merged_into: null, id: { $in: isOne ? [first.id] : [] } }
  },
  sort: { last_seen_at: -1 },
  items: { leads: Lead },
  view: shown,
})

export const getLead = defineOperation({
  name: "leads.get",
  summary: "Read a lead; one that was merged into another reads as that.",
  http: { method: "GET", path: `${path}/{lead_id}` },
  access: reading,
  hints,
  input: z.strictObject({ lead_id: LeadRef }),
  output: Lead,
  errors: ["not_found"],
  examples: [thatLead],
  inject: { leads: Leads },
  handle: async ({ input, caller, deps: { leads } }) => shown(await leads.require(caller.organization.id, input.lead_id)),
})

const TimelineEntry = z
  .object({
    id: Uuid,
    at: Timestamp,
    kind: z.string().describe("`<area>.<what happened>`."),
    summary: z.string(),
    evidence: z.record(z.string(), AnyJson).describe("Ids of what proves it."),
  })
  .meta({ id: "LeadTimelineEntry" })

export const getTimeline = defineOperation({
  name: "leads.timeline",
  summary: "Read what happened with a lead, newest first.",
  description:
    "Events and rows, mail, messages by chat app and text, opt-outs, consents, suppressions, and what was done to the lead by hand.",
  http: { method: "GET", path: `${path}/{lead_id}/timeline` },
  access: reading,
  hints,
  columns: ["at", "kind", "summary"],
  input: z.strictObject({ lead_id: LeadRef, ...pageInput }),
  output: z.object({ timeline: z.array(TimelineEntry), next_cursor: z.string() }),
  errors: ["invalid_argument", "not_found"],
  examples: [thatLead],
  inject: { leads: Leads, timeline: LeadTimeline, pager: Pager },
  async handle({ input: { lead_id, ...request }, caller, deps: { leads, timeline, pager } }) {
    const organization = caller.organization.id
    const lead = await leads.require(organization, lead_id)
    const page = await pager.page({
      collection: timelineOf(timeline, organization, lead, await leads.family(organization, lead)),
      organization,
      cursorScope: `leads.timeline ${lead.id}`,
      filter: {},
      sort: { at: -1, id: -1 },
      request,
    })
    return { timeline: page.items, next_cursor: page.next_cursor }
  },
})

function unreadable(path: string, message: string): AppError {
  return new AppError("invalid_argument", `${path} ${message}.`, { reason: "invalid_fields", fields: [{ path, message }] })
}
