// Reads the request body of a browser: page envelope, events and signals (clicks, touched form fields, deepest scroll).
// Signals have no rows of their own. The server derives friction events from them. Pure.
import { z } from "zod"
import { AppError, isRecord, type Json } from "#core"
import { PageEnvelope } from "#core/engine"
import { elementName } from "./vocabulary.ts"

const maxEvents = 200

export interface Click {
  /** Milliseconds by the browser's clock. */
  readonly at: number
  readonly x: number
  readonly y: number
  readonly element: string
  /** Effect of the click: it selected text, or it used another form control than the click before. */
  readonly how: ClickHow
}

export type ClickHow = "click" | "selects" | "uses"

const hows: readonly ClickHow[] = ["click", "selects", "uses"]

export interface Batch {
  readonly envelope: PageEnvelope
  /** Proof that this service assigned the visitor; see Visitors. */
  readonly proof: string
  readonly isTest: boolean
  /** Time of sending by the browser's clock. Event times are relative to this time. */
  readonly sentAt: number | undefined
  readonly elements: readonly Json[]
  readonly clicks: readonly Click[]
  readonly touched: readonly { readonly form: string; readonly field: string }[]
  /** Percent of the scrollable height; undefined if the browser sent no depth. */
  readonly depth: number | undefined
}

const Time = z.union([z.number().finite(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))])
const ClickSignal = z.tuple([
  z.number().finite(),
  z.number().finite(),
  z.number().finite(),
  z.string().max(500),
  z.literal([0, 1, 2]).default(0),
])
const TouchSignal = z.tuple([z.string().max(500), z.string().max(500)])

/** Skips malformed signals: no reply depends on them. */
function readable<T>(schema: z.ZodType<T>, value: Json | undefined, most: number): T[] {
  if (!Array.isArray(value)) return []
  return value.slice(0, most).flatMap((item) => {
    const read = schema.safeParse(item)
    return read.success ? [read.data] : []
  })
}

/**
 * Reads `{ _envelope, events: [...] }`, or one event at the top level. `authored`: names from the page's HTML. Throws AppError
 * for any other body.
 */
export function readBatch(body: Json, authored: ReadonlySet<string>): Batch {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw malformed("The body is an object: `_envelope`, and `events` or one event.")
  const { events, _envelope, is_test, sent_at, clicks, touched, depth, ...rest } = body
  const elements = events === undefined ? [rest as Json] : events
  if (!Array.isArray(elements)) throw malformed("`events` is a list of events.")
  if (elements.length > maxEvents) {
    const message = `${elements.length} events in one request; at most ${maxEvents} are allowed.`
    throw new AppError("invalid_argument", message, { reason: "too_many_events", max_events: maxEvents })
  }
  const envelope = PageEnvelope.safeParse(_envelope ?? {})
  if (!envelope.success) {
    const issue = envelope.error.issues[0]
    throw malformed(`_envelope.${issue?.path.join(".")}: ${issue?.message}`)
  }
  const proof = isRecord(_envelope) ? _envelope["visitor_proof"] : undefined
  const sentAt = Time.safeParse(sent_at)
  return {
    envelope: envelope.data,
    proof: typeof proof === "string" ? proof.slice(0, 200) : "",
    isTest: is_test === true || is_test === "true" || is_test === "1",
    sentAt: sentAt.success ? sentAt.data : undefined,
    elements,
    clicks: readable(ClickSignal, clicks, maxEvents).map(([at, x, y, name, how]) => ({
      at,
      x,
      y,
      element: elementName(name, authored),
      how: hows[how] ?? "click",
    })),
    touched: readable(TouchSignal, touched, 100).map(([form, field]) => ({
      form: elementName(form, authored),
      field: elementName(field, authored),
    })),
    depth: typeof depth === "number" && depth >= 0 && depth <= 100 ? Math.floor(depth) : undefined,
  }
}

/**
 * Returns the event's time by the server's clock: the time of receipt minus the age by the browser's clock. The age is between
 * zero and a day.
 */
export function timeOf(at: number | undefined, sentAt: number | undefined, receivedAt: number): number {
  if (at === undefined) return receivedAt
  const age = sentAt === undefined ? receivedAt - at : sentAt - at
  return receivedAt - Math.min(Math.max(age, 0), 86_400_000)
}

function malformed(message: string): AppError {
  return new AppError("invalid_argument", message, { reason: "malformed_batch" })
}
