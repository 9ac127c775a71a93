// Queries that count an experiment's visitors in the columnar copy of page events, one pass each. A visitor is a session of the
// page with its first view after the start. It counts for the variant of that view, even if it saw other variants later. It
// converted if it reached the goal after that view. Test traffic does not count; bots have no events. Pure.
import type { Goal } from "../collections.ts"

export interface CountingQuery {
  readonly pageId: string
  /** Keys of the page's variants, in the experiment's order. */
  readonly variants: readonly string[]
  readonly goal: Goal
  /** Dataset goals only: the sessions with rows. */
  readonly converted: readonly string[]
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly until: number
  /** Days of the window for vitals and strata; Infinity: all days. */
  readonly windowDays: number
  /** Starts of the periods of constant weights. The first is the experiment's start. */
  readonly segments: readonly number[]
  /** The required guardrails, out of six. */
  readonly metrics: ReadonlySet<string>
}

const dayMs = 86_400_000
/** Longest time of a session after its first view. */
const sessionMs = dayMs
/** Views just after a change of weights may be of pages served before it, so their sessions do not count. */
const unsettledMs = 60_000
const places = 32
/** Bins of LCP and INP: steps of 2 %. */
const logStep = 50
const clsStep = 1_000

const vitalNames = { lcp_ms: "LCP", inp_ms: "INP", cls: "CLS" } as const
const frictions = { rage_clicks: "rage_click", scroll_bails: "scroll_bail", form_abandons: "form_abandon" } as const
export const vitalMetrics = Object.keys(vitalNames) as (keyof typeof vitalNames)[]
const frictionMetrics = Object.keys(frictions) as (keyof typeof frictions)[]

/**
 * Rows `[what, place, segment, variant, visitors, conversions, rage_clicks, scroll_bails, form_abandons]`. For a vital, `place`
 * is its bin.
 */
export function countsSql(query: CountingQuery): string {
  const { metrics, from, windowDays } = query
  const vitals = vitalMetrics.filter((metric) => metrics.has(metric))
  const friction = frictionMetrics.map((metric) =>
    metrics.has(metric) ? `bool_or(event = '${frictions[metric]}') AS ${metric}` : `false AS ${metric}`,
  )
  const values = vitals.map((metric) => `arg_max(vital_value, at_ms) FILTER (vital_name = '${vitalNames[metric]}') AS ${metric}`)
  const cells = `SELECT 'cell' AS what, ((first_at - ${from}) // ${dayMs})::BIGINT AS place, segment, variant, count(*) AS visitors,
    count_if(converted) AS conversions, ${frictionMetrics.map((metric) => `count_if(${metric}) AS ${metric}`).join(", ")}
    FROM placed GROUP BY ALL`
  const bins = vitals.map(
    (metric) =>
      `SELECT '${metric}', ${binOf(metric)}, 0, variant, count(*), 0, 0, 0, 0 FROM placed WHERE ${metric} IS NOT NULL${inWindow(from, windowDays)} GROUP BY ALL`,
  )
  return `${visits(query, [...friction, ...values])} ${[cells, ...bins].join(" UNION ALL ")}`
}

/**
 * Rows `[dimension, value, variant, visitors, 0]`, and
 * `["lead", "", variant, sessions with a lead, sessions with a lead but no view]`.
 */
export function strataSql(query: CountingQuery): string {
  const dimensions = ["browser", "device_type", "in_app"]
  const columns = [
    ...dimensions.map((name) => `any_value(${name}) AS ${name}`),
    "bool_or(event NOT IN ('pageview', 'scroll_bail')) AS engaged",
  ]
  const strata = [...dimensions, "engaged"].map(
    (name) => `SELECT '${name}' AS what, coalesce(${name}::VARCHAR, '') AS value, variant, count(*) AS visitors, 0 AS without_view
      FROM placed GROUP BY ALL`,
  )
  const leads = `SELECT 'lead', '', lead_variant, count(*), count_if(NOT viewed) FROM (
    SELECT any_value(${placeOf(query.variants)}) FILTER (event = 'lead') AS lead_variant, bool_or(event = 'pageview') AS viewed
    FROM hits GROUP BY session HAVING bool_or(event = 'lead')) WHERE lead_variant < ${places - 1} GROUP BY ALL`
  return `${visits(query, columns)} ${[...strata, leads].join(" UNION ALL ")}`
}

/** Returns the edges of a vital's bin. */
export function binEdges(metric: string, bin: number): { from: number; to: number } {
  if (metric === "cls") return { from: bin / clsStep, to: (bin + 1) / clsStep }
  return { from: bin <= 0 ? 0 : Math.exp(bin / logStep), to: Math.exp((bin + 1) / logStep) }
}

function binOf(metric: string): string {
  return metric === "cls" ? `floor(cls * ${clsStep})::BIGINT` : `floor(ln(greatest(${metric}, 1)) * ${logStep})::BIGINT`
}

function inWindow(from: number, days: number): string {
  return Number.isFinite(days) ? ` AND first_at < ${from + days * dayMs}` : ""
}

/** `hits`: the page's events. `placed`: one row per visitor, with the requested columns. */
function visits(query: CountingQuery, columns: readonly string[]): string {
  const { pageId, goal, converted, from, until, segments } = query
  const hits = `SELECT hash(session_id) AS session, event, variant, element, vital_name, vital_value, autoplay, browser, device_type, in_app,
    epoch_ms(occurred_at) AS at_ms FROM events
    WHERE artifact_id = ${text(pageId)} AND session_id <> '' AND NOT coalesce(is_test, false)
    AND received_at >= ${moment(from)} AND received_at < ${moment(until + sessionMs)}`
  // One integer contains the time and the variant of the first view, so one aggregate suffices.
  const first = `min(at_ms * ${places} + ${placeOf(query.variants)}) FILTER (event = 'pageview' AND variant <> '')`
  const goalAt = goal.kind === "dataset" ? "NULL" : `max(at_ms) FILTER (${goalCondition(goal)})`
  const all = [`${first} AS first`, `${goalAt} AS goal_at`, ...columns]
  const sessions = `SELECT session, ${all.join(", ")} FROM hits GROUP BY session`
  const isConverted =
    goal.kind === "dataset" ? "session IN (SELECT session FROM converted_sessions)" : `coalesce(goal_at >= first // ${places}, false)`
  const counted = `SELECT *, first // ${places} AS first_at, (first % ${places})::INTEGER AS variant, ${isConverted} AS converted FROM sessions
    WHERE first % ${places} < ${places - 1} AND first // ${places} >= ${from} AND first // ${places} < ${until}`
  const list = converted.join(" ")
  const goals =
    goal.kind === "dataset"
      ? `converted_sessions AS MATERIALIZED (SELECT hash(one) AS session FROM (SELECT unnest(string_split(${text(list)}, ' ')) AS one)), `
      : ""
  return `WITH hits AS (${hits}), sessions AS (${sessions}), ${goals}counted AS (${counted}), placed AS MATERIALIZED (${placed(segments)})`
}

/** Returns the variant's place, or 31 for a variant outside the experiment. */
function placeOf(variants: readonly string[]): string {
  return `CASE variant ${variants.map((key, place) => `WHEN ${text(key)} THEN ${place}`).join(" ")} ELSE ${places - 1} END`
}

function placed(segments: readonly number[]): string {
  if (segments.length < 2) return "SELECT *, 0 AS segment FROM counted"
  const rows = segments.map((at, place) => `(${at}, ${place})`).join(", ")
  return `SELECT counted.*, segment FROM counted ASOF JOIN (VALUES ${rows}) AS weights(since, segment) ON counted.first_at >= weights.since
    WHERE segment = 0 OR first_at >= since + ${unsettledMs}`
}

function goalCondition(goal: Exclude<Goal, { kind: "dataset" }>): string {
  if (goal.kind === "lead") return "event = 'lead'"
  const element = goal.element === undefined ? "" : ` AND element = ${text(goal.element)}`
  // An autoplaying video is not an action of the visitor.
  return `event = ${text(goal.event)}${element} AND NOT coalesce(autoplay, false)`
}

function moment(milliseconds: number): string {
  return `TIMESTAMP ${text(new Date(milliseconds).toISOString().slice(0, 23))}`
}

/** Returns an SQL string literal. */
function text(value: string): string {
  return `'${value.replaceAll("'", "''").replaceAll("\0", "")}'`
}
