// The columns of the shared dataset `page-events`, with their types: what analytics reads, and all that is ever written.
// Every column holds a number, an enumeration or a name that the page's author gave; never text that a visitor typed.

export const pageEventsDataset = "page-events"
export const pageEventsKey = "event_id"
/** A page's events are its own: an id that another page used names another row. */
export const pageEventsScope = "artifact_id"

export type PageEventColumnType = "string" | "number" | "boolean" | "date-time"

/** Present in every row; "" means no signal. */
const baseColumns = {
  event_id: "string",
  event: "string",
  artifact_id: "string",
  page_url: "string",
  variant: "string",
  session_id: "string",
  utm_source: "string",
  utm_medium: "string",
  utm_campaign: "string",
  utm_term: "string",
  utm_content: "string",
  click_id: "string",
  click_id_type: "string",
  at: "date-time",
  is_test: "boolean",
  device_type: "string",
  browser: "string",
  in_app: "string",
  language: "string",
  country: "string",
  region: "string",
  city: "string",
} as const satisfies Record<string, PageEventColumnType>

/** Present where the kind of event has them. */
const kindColumns = {
  /** `pageview`: the view of a page that shows several. */
  view: "string",
  /** `scroll_milestone`: 25, 50, 75, 90 or 100. */
  scroll_depth: "number",
  section: "string",
  /** What was clicked: its data-cta, id or name. */
  element: "string",
  x: "number",
  y: "number",
  form: "string",
  field: "string",
  video: "string",
  /** `video_play`: it began by itself, muted, as a background does. */
  autoplay: "boolean",
  vital_name: "string",
  vital_value: "number",
  vital_rating: "string",
  /** `rage_click`: clicks in the burst. */
  click_count: "number",
  /** In percent of what could be scrolled. `scroll_bail`: on any page; `pageview`: of this page in the session, first view only. */
  max_scroll_depth: "number",
  /** Milliseconds from the first to the last event: `scroll_bail` of the session, `form_abandon` on the form's page. */
  duration_ms: "number",
  /** `form_abandon`: how many fields were touched, and their names, comma-separated, in the order of the first touch. */
  field_count: "number",
  fields_touched: "string",
  last_field: "string",
} as const satisfies Record<string, PageEventColumnType>

/** All of them, in their order, for who copies the rows elsewhere. */
export const pageEventColumns: readonly { readonly name: string; readonly type: PageEventColumnType }[] = Object.entries({
  ...baseColumns,
  ...kindColumns,
}).map(([name, type]) => ({ name, type }))
