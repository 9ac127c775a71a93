// Typed columns of page events in the columnar copy. Read by the sealing process, the query process and the documentation.
// A value of another type than its column's becomes NULL and never causes an error.

export interface EventColumn {
  readonly name: string
  readonly type: "VARCHAR" | "DOUBLE" | "BIGINT" | "INTEGER" | "BOOLEAN" | "TIMESTAMP"
  readonly about: string
}

export const text = (name: string, about: string): EventColumn => ({ name, type: "VARCHAR", about })
export const number = (name: string, about: string): EventColumn => ({ name, type: "DOUBLE", about })
export const whole = (name: string, about: string): EventColumn => ({ name, type: "BIGINT", about })
export const time = (name: string, about: string): EventColumn => ({ name, type: "TIMESTAMP", about })
export const flag = (name: string, about: string): EventColumn => ({ name, type: "BOOLEAN", about })

/** Columns of a page event's row, under their names in the dataset. Raise `schemaVersion` when this list changes. */
export const rowColumns: readonly EventColumn[] = [
  text("event_id", "Id of the event; the dataset's key."),
  text(
    "event",
    "What happened: pageview, scroll_milestone, section_view, cta_click, form_start, lead, video_play, web_vital, rage_click, scroll_bail, form_abandon.",
  ),
  text("artifact_id", "The page's id."),
  text("page_url", "URL of the page in the visitor's browser."),
  text("variant", "Experiment variant that was shown."),
  text("session_id", "Session id; a session ends after 30 idle minutes or 24 hours."),
  text("utm_source", "Campaign source."),
  text("utm_medium", "Campaign medium."),
  text("utm_campaign", "Campaign name."),
  text("utm_term", "Campaign term."),
  text("utm_content", "Campaign content."),
  text("click_id", "Click id of the ad network."),
  text("click_id_type", "Kind of click id, such as gclid."),
  time("at", 'Time of the event, UTC. A reserved word: write "at" in quotes, or occurred_at.'),
  flag("is_test", "True for tagged test traffic."),
  text("device_type", "mobile, tablet, desktop or empty."),
  text("browser", "chrome, safari, firefox, edge, samsung, opera, other or empty."),
  text("in_app", "Name of the in-app browser; empty for a standalone one."),
  text("language", "Primary tag of the visitor's language."),
  text("country", "ISO country."),
  text("region", "ISO region."),
  text("city", "City."),
  text("vital_name", "LCP, INP or CLS; of web_vital rows."),
  number("vital_value", "Milliseconds for LCP and INP, a score for CLS."),
  text("vital_rating", "good, needs-improvement or poor."),
  number("scroll_depth", "Percentage of the page, of scroll_milestone: 25, 50, 75, 90 or 100."),
  text("section", "Section that came into view."),
  text("element", "Clicked element, by its authored name."),
  number("x", "Position of the click, pixels from the left."),
  number("y", "Position of the click, pixels from the top."),
  text("form", "Form, by its name."),
  text("field", "Form field, by its name."),
  text("video", "Video, by its name."),
  flag("autoplay", "Whether it started automatically, muted; of video_play."),
  text("view", "View of a single-page application, of pageview."),
  whole("click_count", "Clicks in the burst, of rage_click."),
  number(
    "max_scroll_depth",
    "Deepest scroll as an exact percentage: of scroll_bail, in the session; of pageview, on the page in the session, in the row of its first view.",
  ),
  whole("duration_ms", "Milliseconds from the first to the last event: scroll_bail of the session, form_abandon on the form's page."),
  whole("field_count", "Number of touched fields, of form_abandon."),
  text("fields_touched", "Names of the touched fields, comma-separated, in order of first touch."),
  text("last_field", "Field that was touched last."),
]

/** Columns added by the copy. */
export const ownColumns: readonly EventColumn[] = [
  text("row_id", "Id of the dataset's row."),
  time("received_at", "Time of receipt, UTC; the copy is partitioned by its day."),
  text("properties", "Other columns of the row, as JSON text; NULL if there are none."),
]

/** Distinguishes versions of a row; hidden from queries. */
const versionColumn = "updated_at"

export const schemaVersion = 2

/** Computed columns for the most frequent questions of marketers. */
export const madeColumns: readonly (EventColumn & { readonly sql: string })[] = [
  { ...time("occurred_at", 'The same as "at", without quotes.'), sql: 'coalesce("at", received_at)' },
]

/** Columns of the table `events` in queries. */
export const eventColumns: readonly EventColumn[] = [...rowColumns, ...ownColumns, ...madeColumns].map(({ name, type, about }) => ({
  name,
  type,
  about,
}))

/** Returns columns of `events` for use in a view. */
export function asInEvents(...names: readonly string[]): EventColumn[] {
  return eventColumns.filter(({ name }) => names.includes(name))
}

const kindsOnly = rowColumns.findIndex(({ name }) => name === "vital_name")
const blank = new Set(rowColumns.slice(0, kindsOnly).flatMap(({ name, type }) => (type === "VARCHAR" ? [name] : [])))

/**
 * Returns true for columns of every event. An absent value is blank there and means "no signal". Columns of some kinds only are
 * NULL for other kinds.
 */
export function blankWhenAbsent(column: string): boolean {
  return blank.has(column)
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Returns an SQL string literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** All columns of a segment with their types, in order. */
export const segmentColumns: readonly { readonly name: string; readonly type: string }[] = [
  { name: "row_id", type: "VARCHAR" },
  { name: "received_at", type: "TIMESTAMP" },
  { name: versionColumn, type: "TIMESTAMP" },
  ...rowColumns,
  { name: "properties", type: "VARCHAR" },
]
