// The page envelope and what the service itself knows of an event, as templates see it under `envelope`.
import { z } from "zod"
import { token } from "../kernel/di.ts"

/** What the page says about the visit, in the body's `_envelope` (all optional). */
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
  /** What the page's author calls the form that was sent. */
  form: z.string().max(200).optional(),
})
export type PageEnvelope = z.infer<typeof PageEnvelope>

/** What the service knows of an event beside its payload. */
export interface Envelope extends PageEnvelope {
  readonly received_at: string
  readonly is_test: boolean
  /** The provider's id of the event, lifted by the auth mode; empty when it gives none. */
  readonly event_id?: string
  /** The provider's name of the kind of event, likewise. */
  readonly event_type?: string
  readonly device_type?: string
  readonly browser?: string
  readonly in_app?: string
  readonly language?: string
  readonly country?: string
  readonly region?: string
  readonly city?: string
}

// What a User-Agent header says of the device and the browser. A plugin knows how to read it; without one, nothing is said.

/** Coarse on purpose; "" means no signal. */
export interface UserAgentClass {
  /** `mobile`, `tablet`, `desktop`, or "". */
  readonly device_type: string
  /** `chrome`, `safari`, `firefox`, `edge`, `samsung`, `opera`, `other`, or "". */
  readonly browser: string
  /** Lower-case name of the app whose webview it is, or "" for a standalone browser. */
  readonly in_app: string
}

/** No signal at all. */
export const noUserAgent: UserAgentClass = { device_type: "", browser: "", in_app: "" }

/** Classifies the text of a User-Agent header. */
export type UserAgents = (agent: string) => UserAgentClass
export const UserAgents = token<UserAgents>("UserAgents")
