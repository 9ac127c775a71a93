// Operations for the widget canary of the caller's organization, for staff.
import { z } from "zod"
import { AppError, Clock, defineOperation } from "#core"
import { Canary, verdictNow } from "../canary/canary.ts"
import { checkVerdicts, type StoredCanary } from "../canary/collection.ts"

const path = "/v1/evals/widget-canary"

const CanaryResource = z
  .object({
    configured: z.boolean(),
    widget: z.string().describe("Address of the page that the widget is deployed on; empty where none is configured."),
    widget_name: z.string(),
    selector: z.string().describe("CSS selector of the widget, which must become visible."),
    interval_minutes: z.int().describe("0 where none is configured."),
    verdict: z
      .enum(checkVerdicts)
      .nullable()
      .describe("Of the last check; `unfinished` and `late` where one did not end or begin when it should have. null before the first."),
    reason: z.string(),
    last_check_at: z.string().describe("RFC 3339; empty before the first verdict."),
    age_s: z.int().nullable().describe("Seconds since the last verdict; null before the first."),
  })
  .meta({ id: "WidgetCanary" })

export const getWidgetCanary = defineOperation({
  name: "evals.widget_canary",
  summary: "Read the widget canary: the deployed widget that is checked, and the last verdict. Starts nothing.",
  http: { method: "GET", path },
  access: { scope: "evals:read", role: "guest", staff: true },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: CanaryResource,
  errors: [],
  inject: { canary: Canary, clock: Clock },
  handle: async ({ caller, deps }) => toResource(await deps.canary.get(caller.organization.id), deps.clock.now()),
})

export const configureWidgetCanary = defineOperation({
  name: "evals.configure_widget_canary",
  summary: "Configure the widget canary: its page is loaded in a browser at intervals, and the widget must become visible.",
  description:
    "A failed check, one that does not end and one that is late are alarms on the live channel `evals`, in the log and in the metrics. An empty `widget` ends the canary.",
  http: { method: "PATCH", path },
  access: { scope: "evals:write", role: "member", staff: true },
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: true },
  input: z.strictObject({
    widget: z
      .string()
      .max(2_048)
      .refine((text) => text === "" || (/^https?:\/\//i.test(text) && URL.canParse(text)), "an absolute http(s) URL, or empty")
      .optional()
      .describe("Address of the page that the widget is deployed on; empty: no canary."),
    widget_name: z.string().trim().max(200).optional(),
    selector: z.string().trim().min(1).max(500).optional().describe("CSS selector of the widget, such as #chat-widget."),
    interval_minutes: z.int().min(5).max(1_440).optional().describe("15 unless given."),
  }),
  output: CanaryResource,
  errors: ["invalid_argument", "aborted"],
  examples: [{ input: { widget: "https://www.example.com/", widget_name: "Chat", selector: "#chat-widget" } }],
  inject: { canary: Canary, clock: Clock },
  async handle({ input, caller, deps: { canary, clock }, work }) {
    const organization = caller.organization.id
    const before = await canary.get(organization)
    if (Object.values(input).every((value) => value === undefined)) return toResource(before, clock.now())
    if (input.widget === "") return toResource(canary.configure(work, organization, before, undefined), clock.now())
    const options = {
      widget: input.widget ?? before?.widget ?? "",
      widget_name: input.widget_name ?? before?.widget_name ?? "",
      selector: input.selector ?? before?.selector ?? "",
      interval_minutes: input.interval_minutes ?? before?.interval_minutes ?? 15,
    }
    const fields = (["widget", "widget_name", "selector"] as const)
      .filter((field) => options[field] === "")
      .map((path) => ({ path, message: "needed where no canary is configured" }))
    if (fields.length > 0) {
      const message = `A widget canary needs ${fields.map((field) => field.path).join(", ")}.`
      throw new AppError("invalid_argument", message, { reason: "widget_incomplete", fields })
    }
    return toResource(canary.configure(work, organization, before, options), clock.now())
  },
})

function toResource(canary: StoredCanary | undefined, now: number): z.input<typeof CanaryResource> {
  if (!canary) {
    const none = {
      widget: "",
      widget_name: "",
      selector: "",
      interval_minutes: 0,
      verdict: null,
      reason: "",
      last_check_at: "",
      age_s: null,
    }
    return { configured: false, ...none }
  }
  const { widget, widget_name, selector, interval_minutes, last_check_at, reason } = canary
  const age_s = last_check_at === null ? null : Math.max(0, Math.floor((now - Date.parse(last_check_at)) / 1_000))
  const state = { widget, widget_name, selector, interval_minutes, reason, last_check_at: last_check_at ?? "", age_s }
  return { configured: true, ...state, verdict: verdictNow(canary, now) }
}
