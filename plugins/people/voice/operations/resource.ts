// Output schemas of a caller name and its registrations.
import { z } from "zod"
import { Timestamp, Uuid } from "#core"
import { type CallerName, type Registration, statuses } from "../collections.ts"

export const CallerNameRegistration = z
  .object({
    id: Uuid,
    name: z.string(),
    phone_number: z.string(),
    status: z
      .enum(statuses)
      .describe(
        "`pending_approval`: a person has to decide, nothing is registered; `approved`: Trust Hub's calls are made; `submitted`, `in_review`: Twilio has it; `active`; `rejected`: see `reasons`. From `submitted` on it is what Trust Hub last told.",
      ),
    reasons: z.array(z.object({ code: z.string(), message: z.string() })).describe("Why it was rejected, by the carrier or a person."),
    approval_request_id: Uuid,
    trust_product_sid: z.string().describe("Trust Hub's id of it; empty before there is one."),
    last_error: z.string().describe("What went wrong with the last call, which is made again; empty otherwise."),
    submitted_at: Timestamp.nullable(),
    checked_at: Timestamp.nullable().describe("When Trust Hub last told the status."),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "CallerNameRegistration" })

export function shownRegistration(registration: Registration): z.input<typeof CallerNameRegistration> {
  const { id, name, phone_number, status, reasons, approval_id, progress, last_error } = registration
  const { submitted_at, checked_at, created_at, updated_at } = registration
  const trust_product_sid = progress.trust_product_sid ?? ""
  const times = { submitted_at, checked_at, created_at, updated_at }
  return { id, name, phone_number, status, reasons, approval_request_id: approval_id, trust_product_sid, last_error, ...times }
}

export const callerNameFields = {
  name: z
    .string()
    .trim()
    .max(200)
    .describe("1 to 15 characters: letters, digits, periods, commas, spaces. Empty: the organization's name."),
  phone_number: z.string().trim().max(40).describe("Number of the Twilio account, in E.164, of the United States and not toll-free."),
  integration: z.string().trim().min(1).max(100).describe("Slug or id of a Twilio integration that the organization shares."),
  email: z.union([z.email().max(320), z.literal("")]).describe("Address that Twilio writes to about the registration."),
  customer_profile_sid: z
    .string()
    .regex(/^(?:BU[0-9a-f]{32})?$/, "a SID: BU and 32 hexadecimal digits, or nothing")
    .describe("Approved business profile in Trust Hub; empty: the account's only one."),
}

export const CallerNameResource = z
  .object({
    ...callerNameFields,
    registration: CallerNameRegistration.nullable().describe("The latest; null before the first."),
    updated_at: Timestamp.nullable().describe("null before it was set."),
  })
  .meta({ id: "CallerName" })

export const readOnlyFields = ["registration", "updated_at"] as const

const nothing = { name: "", phone_number: "", integration: "twilio", email: "", customer_profile_sid: "", updated_at: null }

export function shownCallerName(
  wanted: CallerName | undefined,
  registration: Registration | undefined,
): z.input<typeof CallerNameResource> {
  const { name, phone_number, integration, email, customer_profile_sid, updated_at } = wanted ?? nothing
  const shown = registration ? shownRegistration(registration) : null
  return { name, phone_number, integration, email, customer_profile_sid, registration: shown, updated_at }
}
