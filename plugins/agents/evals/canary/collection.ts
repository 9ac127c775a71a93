// The widget canary of an organization: its page and widget, and the result of the last check.
import { z } from "zod"
import { type Document, defineCollection, jobRef } from "#core"

export const checkVerdicts = ["passed", "failed", "unfinished", "late"] as const
export type CheckVerdict = (typeof checkVerdicts)[number]

/** `id` is the organization's. */
export interface StoredCanary extends Document {
  /** Address of the widget's page. */
  widget: string
  widget_name: string
  /** CSS selector of the widget. The element must become visible. */
  selector: string
  interval_minutes: number
  /** Start of the check in progress. Null: no check is running. */
  running_since: string | null
  check_id: string | null
  /** Start of the last check, or time of the configuration. */
  last_started_at: string
  /** Time of the last verdict. Null before the first. */
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

/** A single try: the next minute starts another. */
const once = { max_attempts: 1, initial_delay_ms: 1_000, factor: 1, max_delay_ms: 1_000 }

export const watchRef = jobRef("evals.watch_widget", z.strictObject({}), { retry: once })

export const checkRef = jobRef("evals.check_widget", z.strictObject({ check_id: z.string(), screenshot_id: z.string() }), {
  retry: { ...once, max_attempts: 3 },
})
