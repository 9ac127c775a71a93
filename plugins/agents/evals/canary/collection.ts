// The widget canary of an organization: which page is looked at for which widget, and how the last look went.
import { z } from "zod"
import { type Document, defineCollection, jobRef } from "#core"

export const checkVerdicts = ["passed", "failed", "unfinished", "late"] as const
export type CheckVerdict = (typeof checkVerdicts)[number]

/** `id` is the organization's. */
export interface StoredCanary extends Document {
  /** Address of the page that the widget is deployed on. */
  widget: string
  widget_name: string
  /** CSS selector of the widget, which must become visible. */
  selector: string
  interval_minutes: number
  /** When the check in progress began; null: none is. */
  running_since: string | null
  check_id: string | null
  /** When the last check began, or the canary was configured. */
  last_started_at: string
  /** When the last verdict was reached; null: none yet. */
  last_check_at: string | null
  verdict: CheckVerdict | null
  reason: string
  revision: number
  updated_at: string
}

export const CanaryCollection = defineCollection<StoredCanary>()({
  name: "widget_canaries",
  scope: "organization",
  times: ["running_since", "last_started_at", "last_check_at", "updated_at"],
  indexes: [],
})

/** Tried once: the next minute brings another. */
const once = { max_attempts: 1, initial_delay_ms: 1_000, factor: 1, max_delay_ms: 1_000 }

export const watchRef = jobRef("evals.watch_widget", z.strictObject({}), { retry: once })

export const checkRef = jobRef("evals.check_widget", z.strictObject({ check_id: z.string(), screenshot_id: z.string() }), {
  retry: { ...once, max_attempts: 3 },
})
