// The page envelope and the service's data about an event. Templates read both under `envelope`.
import { z } from "zod"
import { token } from "../kernel/di.ts"

/** The page's description of the visit, in the body's `_envelope` (all optional). */
export const PageEnvelope = z.object({
  page_url: z.string().max(2_048).optional(),
  artifact_id: z.string().max(64).optional(),
  variant: z.string().max(200).optional(),
  session_id: z.string().max(200).optional(),
  visitor_id: z.string().max(200).optional(),
  utm_source: z.string().max(500).optional(),
  utm_medium: z.string().max(500).optional(),
  utm_campaign: z.string().max(500).optional(),
  utm_term: z.string().max(500).optional(),
  utm_content: z.string().max(500).optional(),
  click_id: z.string().max(500).optional(),
  click_id_type: z.string().max(100).optional(),
  /** The form's name, set by the author of the page. */
  form: z.string().max(200).optional(),
})
export type PageEnvelope = z.infer<typeof PageEnvelope>

/** The service's data about an event, beside its payload. */
export interface Envelope extends PageEnvelope {
  readonly received_at: string
  readonly is_test: boolean
  /** The provider's id of the event, extracted by the auth mode. Empty if the provider sends no id. */
  readonly event_id?: string
  /** The provider's event type, extracted by the auth mode. */
  readonly event_type?: string
  readonly device_type?: string
  readonly browser?: string
  readonly in_app?: string
  readonly language?: string
  readonly country?: string
  readonly region?: string
  readonly city?: string
}

// Device and browser from a User-Agent header. A plugin parses the header. Without this plugin the fields are empty.

/** Deliberately coarse. "" means unknown. */
export interface UserAgentClass {
  /** `mobile`, `tablet`, `desktop`, or "". */
  readonly device_type: string
  /** `chrome`, `safari`, `firefox`, `edge`, `samsung`, `opera`, `other`, or "". */
  readonly browser: string
  /** Lower-case name of the app for a webview, or "" for a standalone browser. */
  readonly in_app: string
}

/** All fields unknown. */
export const noUserAgent: UserAgentClass = { device_type: "", browser: "", in_app: "" }

/** Classifies the text of a User-Agent header. */
export type UserAgents = (agent: string) => UserAgentClass
export const UserAgents = token<UserAgents>("UserAgents")
