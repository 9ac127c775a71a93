// The vocabulary of page events: kinds that browsers may submit, stored columns of each kind, and names reserved for the server.
// Pure.
import { z } from "zod"
import { AppError, type Json } from "#core"

const submittedKinds = [
  "pageview",
  "scroll_milestone",
  "section_view",
  "cta_click",
  "form_start",
  "lead",
  "video_play",
  "web_vital",
] as const
export type SubmittedKind = (typeof submittedKinds)[number]

const derivedKinds = ["rage_click", "scroll_bail", "form_abandon"] as const
export type DerivedKind = (typeof derivedKinds)[number]

/** Name of an element. `elementName` filters it before storage. */
const Name = z.string().max(500).default("")
const nameColumns: ReadonlySet<string> = new Set(["view", "section", "element", "form", "field", "video"])

const Coordinate = z.number().finite().min(-100_000).max(10_000_000).transform(Math.round).optional()

const ofKind = {
  pageview: z.object({ view: Name.optional() }),
  scroll_milestone: z.object({ scroll_depth: z.literal([25, 50, 75, 90, 100], "one of 25, 50, 75, 90, 100") }),
  section_view: z.object({ section: Name }),
  cta_click: z.object({ element: Name, x: Coordinate, y: Coordinate }),
  form_start: z.object({ form: Name, field: Name }),
  lead: z.object({ form: Name }),
  video_play: z.object({ video: Name, autoplay: z.boolean().optional() }),
  web_vital: z.object({ vital_name: z.enum(["LCP", "INP", "CLS"]), vital_value: z.number().finite().min(0).max(3_600_000) }),
} satisfies Record<SubmittedKind, z.ZodType>

/** Bounds of web-vitals: up to the first is good, up to the second needs improvement. LCP and INP are in milliseconds. */
const bounds = { LCP: [2_500, 4_000], INP: [200, 500], CLS: [0.1, 0.25] } as const

function ratingOf(name: keyof typeof bounds, value: number): "good" | "needs-improvement" | "poor" {
  const [good, fair] = bounds[name]
  return value <= good ? "good" : value <= fair ? "needs-improvement" : "poor"
}

const EventId = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, "8 to 64 letters, digits, _ or -, generated for each event")

const Common = z.object({
  event_id: EventId,
  at: z.union([z.number().finite(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))]).optional(),
})

export interface SubmittedEvent {
  readonly kind: SubmittedKind
  readonly event_id: string
  /** Milliseconds since the epoch by the browser's clock; undefined if the browser sent no time. */
  readonly at: number | undefined
  /** Columns of the event's kind. */
  readonly columns: Readonly<Record<string, Json>>
}

export type ReadEvent =
  | { readonly ok: true; readonly event: SubmittedEvent }
  | { readonly ok: false; readonly cause: EventRefusal | "bot"; readonly error: AppError }

/** Causes for refusing an element. Each is a reason of its own. */
export type EventRefusal = "invalid_event" | "reserved_event" | "unknown_event"

/**
 * Reads one element of a batch. `authored`: names from the page's HTML. Never throws; a refusal names the field and the cause.
 */
export function readEvent(element: Json, authored: ReadonlySet<string>): ReadEvent {
  if (typeof element !== "object" || element === null || Array.isArray(element))
    return refused("invalid_event", "An event is an object with `event` and `event_id`.", "")
  const name = element["event"]
  if (typeof name !== "string") return refused("invalid_event", "`event` is absent; it names the kind of event.", "event")
  if ((derivedKinds as readonly string[]).includes(name))
    return refused("reserved_event", `"${name}" is created by the server and cannot be submitted.`, "event")
  const kind = submittedKinds.find((candidate) => candidate === name)
  if (!kind) return refused("unknown_event", `"${name.slice(0, 60)}" is not a page event; there are ${submittedKinds.join(", ")}.`, "event")
  const common = Common.safeParse(element)
  const columns = ofKind[kind].safeParse(element)
  if (!common.success || !columns.success) {
    const issue = (common.error ?? columns.error)?.issues[0]
    const path = issue?.path.join(".") ?? ""
    return refused("invalid_event", `${path}: ${issue?.message ?? "is not as it should be"}.`, path)
  }
  const { event_id, at } = common.data
  return { ok: true, event: { kind, event_id, at, columns: storedColumns(columns.data, authored) } }
}

/** Omits absent values and names that may have been typed. Adds the rating of a web vital. */
function storedColumns(columns: Readonly<Record<string, Json | undefined>>, authored: ReadonlySet<string>): Record<string, Json> {
  const out: Record<string, Json> = {}
  for (const [name, value] of Object.entries(columns)) {
    if (value !== undefined) out[name] = nameColumns.has(name) ? elementName(String(value), authored) : value
  }
  const { vital_name, vital_value } = out
  if (typeof vital_name === "string" && typeof vital_value === "number") {
    out["vital_rating"] = ratingOf(vital_name as keyof typeof bounds, vital_value)
  }
  return out
}

/** Returns the author's name of an element. Returns "" for text that a visitor may have typed; the event is still accepted. */
export function elementName(name: string, authored: ReadonlySet<string>): string {
  return authored.has(name) || looksGiven(name) ? name : ""
}

/** Returns true if the name does not look typed: not a sentence, not an address, and fewer digits than phone or card numbers. */
export function looksGiven(name: string): boolean {
  if (!/^[\p{L}\p{M}\p{N}_.:[\] -]{1,80}$/u.test(name)) return false
  return (name.match(/\p{Nd}/gu)?.length ?? 0) <= 6 && name.split(" ").length <= 4
}

function refused(cause: EventRefusal, message: string, path: string): ReadEvent {
  const fields = path === "" ? [] : [{ path, message }]
  return { ok: false, cause, error: new AppError("invalid_argument", message, { reason: cause, fields }) }
}
