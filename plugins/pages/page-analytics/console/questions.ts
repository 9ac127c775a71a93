// SQL queries behind the pictures.

export interface Question {
  readonly title: string
  readonly sql: string
  readonly kind: "lines" | "bars"
  /** Columns of shares instead of counts. */
  readonly shares?: readonly string[]
}

interface Span {
  readonly since: string
  readonly ofPage: string
}

/** `page` is a page id or empty; ids are letters, digits and hyphens. */
function spanOf(days: number, page: string, now: number): Span {
  return {
    since: `TIMESTAMP '${new Date(now - days * 86_400_000).toISOString().slice(0, 10)}'`,
    ofPage: /^[\w-]+$/.test(page) ? ` AND artifact_id = '${page}'` : "",
  }
}

/** Sessions with a lead but without a page view: no script ran, or the visitor refused tracking. No share includes them. */
const unviewed = `count_if(converted AND NOT viewed) AS "leads without a view"`

/** One row: visitors, leads, conversion, leads without a view, and the 75th percentile of each vital. */
export function figuresOf(days: number, page: string, now: number): string {
  const { since, ofPage } = spanOf(days, page, now)
  const vital = (name: string) => `quantile_cont(value, 0.75) FILTER (name = '${name}') AS "${name}"`
  return `SELECT visitors, leads, leads / nullif(visitors, 0) AS conversion, "leads without a view", "LCP", "INP", "CLS"
FROM (SELECT count_if(viewed) AS visitors, count_if(viewed AND converted) AS leads, ${unviewed} FROM sessions\nWHERE started_at >= ${since}${ofPage}),
  (SELECT ${["LCP", "INP", "CLS"].map(vital).join(", ")} FROM web_vitals\nWHERE occurred_at >= ${since}${ofPage})`
}

export function questionsOf(days: number, page: string, now: number): Question[] {
  const { since, ofPage } = spanOf(days, page, now)
  const sessions = `FROM sessions\nWHERE started_at >= ${since}${ofPage}`
  const viewed = `${sessions} AND viewed`
  return [
    {
      title: "Visitors a day",
      kind: "lines",
      sql: `SELECT CAST(CAST(started_at AS DATE) AS VARCHAR) AS day, count_if(viewed) AS visitors, count_if(viewed AND converted) AS leads,\n  ${unviewed}\n${sessions}\nGROUP BY day ORDER BY day`,
    },
    {
      title: "Funnel",
      kind: "bars",
      sql: `SELECT step, CAST(sum(sessions) AS BIGINT) AS sessions, CAST(sum(unviewed_sessions) AS BIGINT) AS "without a view"\nFROM funnel\nWHERE true${ofPage}\nGROUP BY step, position ORDER BY position`,
    },
    {
      title: "Conversion by variant",
      kind: "bars",
      shares: ["conversion"],
      sql: `SELECT coalesce(variant, 'none') AS variant, count_if(converted) / count(*) AS conversion\n${viewed}\nGROUP BY variant ORDER BY variant LIMIT 40`,
    },
    {
      title: "Web vitals, 75th percentile",
      kind: "bars",
      sql: `SELECT name, quantile_cont(value, 0.75) AS p75\nFROM web_vitals\nWHERE occurred_at >= ${since}${ofPage}\nGROUP BY name ORDER BY name`,
    },
    {
      title: "Friction by device, share of visitors",
      kind: "bars",
      shares: ["rage clicks", "bailed", "abandoned a form"],
      sql: `SELECT device_type, count_if(rage_clicks > 0) / count(*) AS "rage clicks", count_if(bailed) / count(*) AS bailed,\n  count_if(abandoned_form) / count(*) AS "abandoned a form"\n${viewed}\nGROUP BY device_type ORDER BY device_type LIMIT 20`,
    },
    {
      title: "Where visitors come from",
      kind: "bars",
      sql: `SELECT coalesce(utm_source, 'direct') AS source, count_if(viewed) AS visitors,\n  ${unviewed}\n${sessions}\nGROUP BY source ORDER BY visitors DESC LIMIT 12`,
    },
  ]
}
