// The requested caller name of an organization, and its registrations with the progress at Trust Hub.
import { z } from "zod"
import { type Document, defineCollection, derivedUuid, jobRef } from "#core"

export const statuses = ["pending_approval", "approved", "submitted", "in_review", "active", "rejected"] as const
export type RegistrationStatus = (typeof statuses)[number]

/** The request of an organization, in one document. */
export interface CallerName extends Document {
  /** Empty: the organization's own name. */
  name: string
  /** E.164, of the United States. */
  phone_number: string
  /** Slug or id of a Twilio integration. */
  integration: string
  /** Contact address for Twilio's mail about the registration. */
  email: string
  /** SID of the business profile. Empty: the account's only approved profile. */
  customer_profile_sid: string
  /** The latest registration. */
  registration_id: string | null
  revision: number
  created_at: string
  updated_at: string
}

export const CallerNameCollection = defineCollection<CallerName>()({
  name: "caller_names",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [],
})

export function callerNameId(organization: string): string {
  return derivedUuid(organization, "caller name")
}

/** The approved data, equal to the registered data. */
export const Filing = z.strictObject({
  name: z.string(),
  phone_number: z.string(),
  integration_id: z.string(),
  email: z.string(),
  customer_profile_sid: z.string(),
})
export type Filing = z.output<typeof Filing>

/** Results of the Trust Hub calls, in call order. Absent before the call. */
export interface Progress {
  account_sid?: string
  customer_profile_sid?: string
  phone_number_sid?: string
  profile_number_sid?: string
  trust_product_sid?: string
  end_user_sid?: string
  end_user_assignment_sid?: string
  profile_assignment_sid?: string
  trust_product_number_sid?: string
  evaluation_sid?: string
}

/** Reason for a rejection: the carrier's code and text, or the service's. */
export interface Reason {
  code: string
  message: string
}

export interface Registration extends Document, Filing {
  status: RegistrationStatus
  approval_id: string
  progress: Progress
  reasons: Reason[]
  /** Consecutive calls without progress: failures before the submission, unchanged answers afterwards. */
  tries: number
  /** Error of the last call. Empty after success. */
  last_error: string
  submitted_at: string | null
  /** Time of Trust Hub's last status. */
  checked_at: string | null
  revision: number
  created_at: string
  updated_at: string
}

export const RegistrationCollection = defineCollection<Registration>()({
  name: "caller_name_registrations",
  scope: "organization",
  times: ["submitted_at", "checked_at", "created_at", "updated_at"],
  indexes: [],
})

export const registerRef = jobRef("voice.register_caller_name", z.object({ organization: z.string(), registration_id: z.string() }), {
  timeoutMs: 300_000,
  // Refused or unanswered calls postpone the job. Only the service's own errors, such as its storage, make the job fail.
  retry: { max_attempts: 50, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 3_600_000 },
})
