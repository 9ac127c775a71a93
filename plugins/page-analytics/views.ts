// The tables that a query sees: `events`, and views over it that answer the usual questions. Each is documented by its
// own declaration; GET /v1/page-analytics/schema shows it.
import { literal, madeColumns, ownColumns, quoted, rowColumns, segmentColumns } from "./event-columns.ts"

export interface AnalyticsView {
  readonly name: string
  readonly about: string
  readonly columns: Readonly<Record<string, string>>
  readonly sql: string
}

/** `events` over these files. `mixed`: some were written before a column existed. */
export function eventsView(files: readonly string[], mixed: boolean): string {
  const shown = [...rowColumns, ...ownColumns].map((column) => quoted(column.name))
  const made = madeColumns.map((column) => `${column.sql} AS ${quoted(column.name)}`)
  return `CREATE VIEW events AS SELECT ${[...shown, ...made].join(", ")} FROM ${source(files, mixed)}`
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
    about: "One row a session, without test traffic: what it saw, did and came from. Attribution is the session's first that is not empty.",
    columns: {
      session_id: "The session.",
      artifact_id: "Page that it began on.",
      variant: "Variant that it saw first.",
      landing_url: "Address that it began on.",
      started_at: "First event, UTC.",
      ended_at: "Last event, UTC.",
      duration_s: "Seconds between them.",
      events: "Number of events.",
      pageviews: "Number of page views.",
      clicks: "Number of CTA clicks.",
      max_scroll: "Deepest scroll milestone, per cent; 0 when none.",
      started_form: "Whether a form was begun.",
      converted: "Whether it became a lead.",
      rage_clicks: "Number of rage clicks.",
      bailed: "Whether it left without scrolling or clicking.",
      abandoned_form: "Whether it left a form begun.",
      "utm_source, utm_medium, utm_campaign, click_id_type": "Where it came from.",
      "device_type, browser, in_app, language, country": "What it came with.",
    },
    sql: `SELECT session_id, arg_min(artifact_id, occurred_at) AS artifact_id,
      arg_min(variant, occurred_at) FILTER (variant <> '') AS variant,
      arg_min(page_url, occurred_at) FILTER (page_url <> '') AS landing_url,
      min(occurred_at) AS started_at, max(occurred_at) AS ended_at,
      date_diff('millisecond', min(occurred_at), max(occurred_at)) / 1000 AS duration_s,
      count(*) AS events, count_if(event = 'pageview')::BIGINT AS pageviews, count_if(event = 'cta_click')::BIGINT AS clicks,
      coalesce(max(scroll_depth) FILTER (event = 'scroll_milestone'), 0) AS max_scroll,
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
    about: "One row a lead event, without test traffic, with the time that its session took to it.",
    columns: {
      "every column of events": "As there.",
      session_started_at: "First event of its session, UTC.",
      time_to_lead_s: "Seconds from there to the lead.",
    },
    sql: `SELECT lead.*, began.at AS session_started_at,
      date_diff('millisecond', began.at, lead.occurred_at) / 1000 AS time_to_lead_s
      FROM (SELECT * FROM events WHERE event = 'lead' AND NOT coalesce(is_test, false)) AS lead
      LEFT JOIN (SELECT session_id, min(occurred_at) AS at ${inSession}
        AND session_id IN (SELECT session_id FROM events WHERE event = 'lead') GROUP BY session_id) AS began USING (session_id)`,
  },
  {
    name: "pages",
    about: "One row a page, without test traffic.",
    columns: {
      artifact_id: "The page.",
      page_url: "Its most recent address.",
      pageviews: "Page views.",
      visitors: "Sessions that viewed it.",
      leads: "Sessions that became a lead on it.",
      conversion_rate: "leads / visitors; NULL without visitors.",
      "first_seen_at, last_seen_at": "Its first and last event, UTC.",
    },
    sql: `SELECT artifact_id, arg_max(page_url, occurred_at) FILTER (page_url <> '') AS page_url,
      count_if(event = 'pageview')::BIGINT AS pageviews,
      count(DISTINCT session_id) FILTER (event = 'pageview') AS visitors,
      count(DISTINCT session_id) FILTER (event = 'lead') AS leads,
      count(DISTINCT session_id) FILTER (event = 'lead') / nullif(count(DISTINCT session_id) FILTER (event = 'pageview'), 0) AS conversion_rate,
      min(occurred_at) AS first_seen_at, max(occurred_at) AS last_seen_at
      ${inSession} GROUP BY artifact_id`,
  },
  {
    name: "web_vitals",
    about: "One row a measurement of a real visitor, without test traffic; quantile_cont(value, 0.75) is the usual figure.",
    columns: {
      "artifact_id, page_url, variant, session_id": "Where.",
      occurred_at: "When, UTC.",
      name: "LCP, INP or CLS.",
      value: "Milliseconds, or a score for CLS.",
      rating: "good, needs-improvement or poor.",
      "device_type, browser, in_app, country": "With what.",
    },
    sql: `SELECT artifact_id, page_url, variant, session_id, occurred_at, vital_name AS name, vital_value AS value, vital_rating AS rating,
      device_type, browser, in_app, country
      FROM events WHERE event = 'web_vital' AND NOT coalesce(is_test, false)`,
  },
  {
    name: "funnel",
    about: "Five rows a page and variant, without test traffic: sessions that got to each step, whether or not they took the ones before.",
    columns: {
      artifact_id: "The page.",
      variant: "The variant.",
      position: "1 to 5.",
      step: "viewed, scrolled_half, clicked, started_form, became_lead.",
      sessions: "Sessions that got there.",
    },
    sql: `SELECT artifact_id, variant, step.position, step.name AS step,
      [viewed, scrolled_half, clicked, started_form, became_lead][step.position] AS sessions
      FROM (SELECT artifact_id, variant,
        count(DISTINCT session_id) FILTER (event = 'pageview') AS viewed,
        count(DISTINCT session_id) FILTER (event = 'scroll_milestone' AND scroll_depth >= 50) AS scrolled_half,
        count(DISTINCT session_id) FILTER (event = 'cta_click') AS clicked,
        count(DISTINCT session_id) FILTER (event = 'form_start') AS started_form,
        count(DISTINCT session_id) FILTER (event = 'lead') AS became_lead
        ${inSession} GROUP BY artifact_id, variant),
      (VALUES (1, 'viewed'), (2, 'scrolled_half'), (3, 'clicked'), (4, 'started_form'), (5, 'became_lead')) AS step(position, name)`,
  },
]

export const tableNames: readonly string[] = ["events", ...views.map((view) => view.name)]
