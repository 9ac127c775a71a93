// Columns and types of the shared dataset `page-events`. Analytics reads them, and no other columns are written.
// Every column holds a number, an enumeration or a name chosen by the page's author. Text typed by a visitor is never stored.

export const pageEventsDataset = "page-events"
export const pageEventsKey = "event_id"
/** Rows are unique by event id within a page. The same id on another page is another row. */
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

/** Present only for some kinds of events. */
const kindColumns = {
  /** `pageview`: view name, for pages with several views. */
  view: "string",
  /** `scroll_milestone`: 25, 50, 75, 90 or 100. */
  scroll_depth: "number",
  section: "string",
  /** Name of the clicked element: its data-cta, id or name. */
  element: "string",
  x: "number",
  y: "number",
  form: "string",
  field: "string",
  video: "string",
  /** `video_play`: true if the video started by itself and muted, as backgrounds do. */
  autoplay: "boolean",
  vital_name: "string",
  vital_value: "number",
  vital_rating: "string",
  /** `rage_click`: clicks in the burst. */
  click_count: "number",
  /** Percent of the scrollable height. `scroll_bail`: on any page. `pageview`: of this page in the session, first view only. */
  max_scroll_depth: "number",
  /** Milliseconds from the first to the last event. `scroll_bail`: of the session. `form_abandon`: on the form's page. */
  duration_ms: "number",
  /** `form_abandon`: number of touched fields, and their names in order of the first touch, comma-separated. */
  field_count: "number",
  fields_touched: "string",
  last_field: "string",
} as const satisfies Record<string, PageEventColumnType>

/** All columns in order, for copies of the rows. */
export const pageEventColumns: readonly { readonly name: string; readonly type: PageEventColumnType }[] = Object.entries({
  ...baseColumns,
  ...kindColumns,
}).map(([name, type]) => ({ name, type }))
