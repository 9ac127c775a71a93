// Tables of a query: `events`, and views over it for the usual questions. Each declaration documents its columns in the engine's
// order, with the engine's types. GET /v1/page-analytics/schema returns them.
import {
  asInEvents,
  type EventColumn,
  eventColumns,
  flag,
  literal,
  madeColumns,
  number,
  ownColumns,
  quoted,
  rowColumns,
  segmentColumns,
  text,
  time,
  whole,
} from "./event-columns.ts"

export interface AnalyticsView {
  readonly name: string
  readonly about: string
  readonly columns: readonly EventColumn[]
  readonly sql: string
}

/** Returns the view `events` over these files. `mixed`: some files are older than a column. */
export function eventsView(files: readonly string[], mixed: boolean): string {
  const columns = [...rowColumns, ...ownColumns].map((column) => quoted(column.name))
  const computed = madeColumns.map((column) => `${column.sql} AS ${quoted(column.name)}`)
  return `CREATE VIEW events AS SELECT ${[...columns, ...computed].join(", ")} FROM ${source(files, mixed)}`
}

function source(files: readonly string[], mixed: boolean): string {
  const blank = `(SELECT ${segmentColumns.map(({ name, type }) => `NULL::${type} AS ${quoted(name)}`).join(", ")} WHERE false)`
  if (files.length === 0) return blank
  const list = files.map(literal).join(", ")
  if (!mixed) return `read_parquet([${list}])`
  return `(SELECT * FROM read_parquet([${list}], union_by_name = true) UNION ALL BY NAME SELECT * FROM ${blank})`
}

const inSession = "FROM events WHERE NOT coalesce(is_test, false) AND session_id <> ''"

export const views: readonly AnalyticsView[] = [
  {
    name: "sessions",
    about: "One row per session, without test traffic: its views, actions and attribution. Attribution is the first that is not empty.",
    columns: [
      text("session_id", "The session."),
      text("artifact_id", "First page."),
      text("variant", "First variant."),
      text("landing_url", "URL of the first page."),
      time("started_at", "First event, UTC."),
      time("ended_at", "Last event, UTC."),
      number("duration_s", "Duration in seconds."),
      whole("events", "Number of events."),
      whole("pageviews", "Number of page views."),
      flag(
        "viewed",
        "Whether the session has a page view. Without scripts, or with Global Privacy Control, a session may have a lead only.",
      ),
      whole("clicks", "Number of CTA clicks."),
      number("max_scroll", "Deepest scroll milestone, as a percentage; 0 if none."),
      number("scroll_depth", "Deepest scroll of the session as an exact percentage; NULL if the page reported none."),
      flag("started_form", "Whether a form was started."),
      flag("converted", "Whether the session became a lead."),
      whole("rage_clicks", "Number of rage clicks."),
      flag("bailed", "Whether the session ended without scrolling or clicking."),
      flag("abandoned_form", "Whether the session started a form and submitted none."),
      ...asInEvents("utm_source", "utm_medium", "utm_campaign", "click_id_type"),
      ...asInEvents("device_type", "browser", "in_app", "language", "country"),
    ],
    sql: `SELECT session_id, arg_min(artifact_id, occurred_at) AS artifact_id,
      arg_min(variant, occurred_at) FILTER (variant <> '') AS variant,
      arg_min(page_url, occurred_at) FILTER (page_url <> '') AS landing_url,
      min(occurred_at) AS started_at, max(occurred_at) AS ended_at,
      date_diff('millisecond', min(occurred_at), max(occurred_at)) / 1000 AS duration_s,
      count(*) AS events, count_if(event = 'pageview')::BIGINT AS pageviews, bool_or(event = 'pageview') AS viewed,
      count_if(event = 'cta_click')::BIGINT AS clicks,
      coalesce(max(scroll_depth) FILTER (event = 'scroll_milestone'), 0) AS max_scroll,
      greatest(max(max_scroll_depth) FILTER (event IN ('pageview', 'scroll_bail')), max(scroll_depth) FILTER (event = 'scroll_milestone')) AS scroll_depth,
      bool_or(event = 'form_start') AS started_form, bool_or(event = 'lead') AS converted,
      count_if(event = 'rage_click')::BIGINT AS rage_clicks, bool_or(event = 'scroll_bail') AS bailed,
      bool_or(event = 'form_abandon') AS abandoned_form,
      arg_min(utm_source, occurred_at) FILTER (utm_source <> '') AS utm_source,
      arg_min(utm_medium, occurred_at) FILTER (utm_medium <> '') AS utm_medium,
      arg_min(utm_campaign, occurred_at) FILTER (utm_campaign <> '') AS utm_campaign,
      arg_min(click_id_type, occurred_at) FILTER (click_id_type <> '') AS click_id_type,
      any_value(device_type) AS device_type, any_value(browser) AS browser, any_value(in_app) AS in_app,
      any_value(language) AS language, any_value(country) AS country
      ${inSession} GROUP BY session_id`,
  },
  {
    name: "leads",
    about: "One row per lead event, without test traffic, with its time since the start of the session.",
    columns: [
      ...eventColumns,
      time("session_started_at", "First event of its session, UTC."),
      number("time_to_lead_s", "Seconds from the first event to the lead."),
      flag("viewed", "Whether its session has a page view."),
    ],
    sql: `SELECT lead.*, began.at AS session_started_at,
      date_diff('millisecond', began.at, lead.occurred_at) / 1000 AS time_to_lead_s,
      coalesce(began.viewed, false) AS viewed
      FROM (SELECT * FROM events WHERE event = 'lead' AND NOT coalesce(is_test, false)) AS lead
      LEFT JOIN (SELECT session_id, min(occurred_at) AS at, bool_or(event = 'pageview') AS viewed ${inSession}
        AND session_id IN (SELECT session_id FROM events WHERE event = 'lead') GROUP BY session_id) AS began USING (session_id)`,
  },
  {
    name: "pages",
    about: "One row per page, without test traffic.",
    columns: [
      text("artifact_id", "The page."),
      text("page_url", "Its most recent URL."),
      whole("pageviews", "Page views."),
      whole("visitors", "Sessions that viewed it."),
      whole("leads", "Sessions that viewed it and became a lead on it."),
      whole("unviewed_leads", "Sessions that became a lead on it without a page view of it."),
      number("conversion_rate", "leads / visitors; NULL without visitors."),
      time("first_seen_at", "Its first event, UTC."),
      time("last_seen_at", "Its last event, UTC."),
    ],
    sql: `SELECT artifact_id, arg_max(url, url_at) AS page_url, sum(views)::BIGINT AS pageviews,
      count_if(views > 0)::BIGINT AS visitors, count_if(views > 0 AND became_lead)::BIGINT AS leads,
      count_if(views = 0 AND became_lead)::BIGINT AS unviewed_leads,
      count_if(views > 0 AND became_lead) / nullif(count_if(views > 0), 0) AS conversion_rate,
      min(first_at) AS first_seen_at, max(last_at) AS last_seen_at
      FROM (SELECT artifact_id, session_id, arg_max(page_url, occurred_at) FILTER (page_url <> '') AS url,
        max(occurred_at) FILTER (page_url <> '') AS url_at, count_if(event = 'pageview') AS views,
        bool_or(event = 'lead') AS became_lead, min(occurred_at) AS first_at, max(occurred_at) AS last_at
        ${inSession} GROUP BY artifact_id, session_id)
      GROUP BY artifact_id`,
  },
  {
    name: "web_vitals",
    about: "One row per measurement of a real visitor, without test traffic; quantile_cont(value, 0.75) is the usual aggregate.",
    columns: [
      ...asInEvents("artifact_id", "page_url", "variant", "session_id"),
      time("occurred_at", "When, UTC."),
      text("name", "LCP, INP or CLS."),
      number("value", "Milliseconds, or a score for CLS."),
      text("rating", "good, needs-improvement or poor."),
      ...asInEvents("device_type", "browser", "in_app", "country"),
    ],
    sql: `SELECT artifact_id, page_url, variant, session_id, occurred_at, vital_name AS name, vital_value AS value, vital_rating AS rating,
      device_type, browser, in_app, country
      FROM events WHERE event = 'web_vital' AND NOT coalesce(is_test, false)`,
  },
  {
    name: "funnel",
    about:
      "Five rows per page and variant, without test traffic: sessions that viewed the page and reached each step, with or without the previous ones.",
    columns: [
      text("artifact_id", "The page."),
      text("variant", "The variant."),
      { name: "position", type: "INTEGER", about: "1 to 5." },
      text("step", "viewed, scrolled_half, clicked, started_form, became_lead."),
      whole("sessions", "Sessions that viewed the page and reached the step."),
      whole("unviewed_sessions", "Sessions that reached the step without a page view of the page."),
    ],
    sql: `SELECT artifact_id, variant, step.position, step.name AS step,
      [viewed, scrolled_half, clicked, started_form, became_lead][step.position] AS sessions,
      [0, unviewed_half, unviewed_clicked, unviewed_started, unviewed_lead][step.position] AS unviewed_sessions
      FROM (SELECT artifact_id, variant, count_if(saw)::BIGINT AS viewed,
        count_if(knows AND half)::BIGINT AS scrolled_half, count_if(NOT knows AND half)::BIGINT AS unviewed_half,
        count_if(knows AND cta)::BIGINT AS clicked, count_if(NOT knows AND cta)::BIGINT AS unviewed_clicked,
        count_if(knows AND form)::BIGINT AS started_form, count_if(NOT knows AND form)::BIGINT AS unviewed_started,
        count_if(knows AND lead)::BIGINT AS became_lead, count_if(NOT knows AND lead)::BIGINT AS unviewed_lead
        FROM (SELECT *, bool_or(saw) OVER (PARTITION BY artifact_id, session_id) AS knows
          FROM (SELECT artifact_id, variant, session_id, bool_or(event = 'pageview') AS saw,
            bool_or(event = 'scroll_milestone' AND scroll_depth >= 50) AS half, bool_or(event = 'cta_click') AS cta,
            bool_or(event = 'form_start') AS form, bool_or(event = 'lead') AS lead
            ${inSession} GROUP BY artifact_id, variant, session_id))
        GROUP BY artifact_id, variant),
      (VALUES (1, 'viewed'), (2, 'scrolled_half'), (3, 'clicked'), (4, 'started_form'), (5, 'became_lead')) AS step(position, name)`,
  },
]

export const tableNames: readonly string[] = ["events", ...views.map((view) => view.name)]
