// The report as one HTML document that needs nothing else: no script, no address outside of it, nothing but its own style.
import { createHash } from "node:crypto"
import { Html, html, noHtml } from "#core"
import { funnelFigure, intervalFigure, sequenceFigure } from "./figures.ts"
import { percentText, percentTick, plural, strengthText, timeText } from "./numbers.ts"
import type { LiveSection, Report } from "./resource.ts"
import { style } from "./style.ts"
import { type Column, table } from "./table.ts"

const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'`

/** The one text that is not escaped: the policy holds its digest. */
const ownStyle = new Html(style)

export function reportPage(report: Report): string {
  const { experiment, as_of, panel, tournament, feedback, live } = report
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${experiment.name}: experiment report</title>
<style>${ownStyle}</style>
</head>
<body>
<main>
<h1 dir="auto">${experiment.name}</h1>
<p class="quiet">Experiment <bdi>${experiment.slug}</bdi>, ${experiment.status}. ${as_of === null ? "Its ledger is empty." : `Its ledger as of ${timeText(as_of)}.`}</p>
${experiment.hypothesis === "" ? noHtml : html`<p dir="auto">${experiment.hypothesis}</p>`}
${decisionPart(report)}
${summaryPart(report)}
${live ? livePart(live) : absent("Visitors", "No visitor was counted yet.")}
${panel ? panelPart(panel) : absent("Panel", "No panel has ended.")}
${tournament ? tournamentPart(tournament) : absent("Tournament", "No tournament has ended.")}
${feedback.length > 0 ? feedbackPart(feedback) : absent("Feedback", "Nobody has said anything.")}
</main>
</body>
</html>
`
  return text
}

function absent(title: string, words: string): Html {
  return html`<h2>${title}</h2><p class="quiet">${words}</p>`
}

function decisionPart({ experiment: { decision } }: Report): Html {
  if (!decision) return noHtml
  return html`<div class="summary"><p><strong>Decided for <bdi>${decision.variant_key}</bdi></strong>, ${timeText(decision.decided_at)}.</p>
<p dir="auto">${decision.reason}</p></div>`
}

const score = (value: number | null) => (value === null ? "–" : value.toFixed(2))
const rank = (value: number | null) => (value === null ? "–" : String(value))
const between = (low: number | null, high: number | null, write: (value: number) => string) =>
  low === null || high === null ? "–" : `${write(low)} to ${write(high)}`

function summaryPart({ summary }: Report): Html {
  const columns: Column<Report["summary"][number]>[] = [
    { title: "Variant", text: (one) => one.variant_key },
    { title: "Conversion rate", text: (one) => (one.conversion_rate === null ? "–" : percentText(one.conversion_rate)), isNumber: true },
    { title: "Panel score, 1 to 5", text: (one) => score(one.panel_score), isNumber: true },
    { title: "Panel rank", text: (one) => rank(one.panel_rank), isNumber: true },
    { title: "Tournament strength", text: (one) => score(one.tournament_strength), isNumber: true },
    { title: "Tournament rank", text: (one) => rank(one.tournament_rank), isNumber: true },
    { title: "Remarks", text: (one) => String(one.feedback), isNumber: true },
  ]
  return html`<h2>All evidence</h2>${table("What each kind of evidence says of each variant.", columns, summary)}`
}

function livePart({ source, as_of, message, sample_ratio, variants, guardrails, series }: LiveSection): Html {
  const rows = variants.map(({ variant_key, rate, rate_low, rate_high, visitors }) => ({
    label: variant_key,
    value: rate,
    low: visitors > 0 ? rate_low : null,
    high: visitors > 0 ? rate_high : null,
  }))
  const best = variants.reduce<(typeof variants)[number] | undefined>(
    (top, one) => ((one.rate ?? -1) > (top?.rate ?? -1) ? one : top),
    undefined,
  )
  const description =
    best?.rate == null
      ? "No visitors yet."
      : `${best.variant_key} converts most, ${percentText(best.rate)} of ${plural(best.visitors, "visitor")}.`
  const columns: Column<(typeof variants)[number]>[] = [
    { title: "Variant", text: (one) => one.variant_key },
    { title: "Visitors", text: (one) => one.visitors.toLocaleString("en-US"), isNumber: true },
    { title: "Conversions", text: (one) => one.conversions.toLocaleString("en-US"), isNumber: true },
    { title: "Rate", text: (one) => (one.rate === null ? "–" : percentText(one.rate)), isNumber: true },
    { title: "Interval", text: (one) => between(one.rate_low, one.rate_high, percentText), isNumber: true },
  ]
  const guarded: Column<(typeof guardrails)[number]>[] = [
    { title: "Metric", text: (one) => one.metric },
    { title: "Variant", text: (one) => one.variant_key },
    { title: "Value", text: (one) => score(one.value), isNumber: true },
    { title: "Interval", text: (one) => between(one.low, one.high, (value) => value.toFixed(2)), isNumber: true },
    { title: "Verdict", text: (one) => one.verdict.replaceAll("_", " ") },
  ]
  const counted = source === "ledger" ? "As the ledger has it" : "Counted"
  return html`<h2>Visitors</h2>
<p>${message}</p>
<p class="quiet">${counted}${as_of === null ? "" : `, up to ${timeText(as_of)}`}. Intervals hold however often they are looked at.${
    sample_ratio === null
      ? ""
      : ` Shares of the variants: ${sample_ratio.verdict.replaceAll("_", " ")} (p = ${sample_ratio.p_value.toPrecision(2)}).`
  }</p>
<h3>Conversion rate</h3>
<figure>${intervalFigure({ id: "rates", title: "Conversion rate of each variant, with its interval", description }, rows, { format: percentTick, from: 0 })}</figure>
${table("Visitors, conversions and rates.", columns, variants)}
${series.length > 1 ? seriesPart(series) : noHtml}
<h3>From visit to conversion</h3>
<figure>${funnelFigure(
    { id: "funnel", title: "Visitors and conversions of each variant", description: "The numbers are in the table of conversion rates." },
    variants.map(({ variant_key, visitors, conversions }) => ({
      label: variant_key,
      steps: [
        { name: "Visitors", count: visitors },
        { name: "Conversions", count: conversions },
      ],
    })),
  )}</figure>
${guardrails.length > 0 ? html`<h3>Guardrails</h3>${table("What must not get worse.", guarded, guardrails)}` : noHtml}`
}

function seriesPart(series: LiveSection["series"]): Html {
  const keys = [...new Set(series.flatMap(({ variants }) => variants.map(({ variant_key }) => variant_key)))]
  const sequences = keys.map((label) => ({
    label,
    points: series.flatMap(({ at, variants }) => {
      const one = variants.find(({ variant_key }) => variant_key === label)
      return one?.rate == null ? [] : [{ at: Date.parse(at), value: one.rate, low: one.rate_low, high: one.rate_high }]
    }),
  }))
  const shown = sequences.filter(({ points }) => points.length > 0)
  if (shown.length === 0) return noHtml
  const last = series.at(-1)
  const columns: Column<LiveSection["series"][number]>[] = [
    { title: "Until", text: ({ at }) => timeText(at), isTime: true },
    ...keys.map((key) => ({
      title: key,
      isNumber: true,
      text: ({ variants }: LiveSection["series"][number]) => {
        const one = variants.find(({ variant_key }) => variant_key === key)
        return one?.rate == null ? "–" : `${percentText(one.rate)} (${between(one.rate_low, one.rate_high, percentText)})`
      },
    })),
  ]
  return html`<h3>Conversion rate over time</h3>
<figure>${sequenceFigure(
    {
      id: "series",
      title: "Conversion rate of all visitors so far, with its confidence sequence",
      description: `From ${timeText(series[0]?.at ?? "")} to ${timeText(last?.at ?? "")}: bands narrow as visitors come.`,
    },
    shown,
    { format: percentTick, formatAt: (at) => new Date(at).toISOString().slice(0, 10) },
  )}</figure>
${table("Rates of all visitors so far, with their intervals.", columns, thinned(series))}`
}

const maxRows = 14

/** Evenly spaced, the last one always. */
function thinned<T>(all: readonly T[]): T[] {
  const step = Math.ceil(all.length / maxRows)
  return all.filter((_, place) => (all.length - 1 - place) % step === 0)
}

const readFrom = {
  browser: "Pages were read as the browser rendered them.",
  html: "Pages were read from their HTML, scripts not run.",
  mixed: "Some pages were read as the browser rendered them, others from their HTML.",
  unknown: "",
}

function notes({
  text_from,
  corrected,
  earlier_runs,
}: {
  text_from: keyof typeof readFrom
  corrected: number
  earlier_runs: number
}): string {
  const parts = [readFrom[text_from]]
  if (corrected > 0) parts.push(`${plural(corrected, "value")} corrected by a person.`)
  if (earlier_runs > 0) parts.push(`${plural(earlier_runs, "earlier run")} on the ledger.`)
  return parts.filter(Boolean).join(" ")
}

function panelPart(panel: NonNullable<Report["panel"]>): Html {
  const rows = panel.ranking.map(({ variant_key, score: value, interval }) => ({
    label: variant_key,
    value,
    low: interval?.low ?? null,
    high: interval?.high ?? null,
  }))
  const [first] = panel.ranking
  const description = first?.score == null ? "No cell succeeded." : `${first.variant_key} is first with ${first.score.toFixed(2)} of 5.`
  const columns: Column<(typeof panel.ranking)[number]>[] = [
    { title: "Variant", text: (one) => one.variant_key },
    { title: "Rank", text: (one) => rank(one.score === null ? null : one.rank), isNumber: true },
    { title: "Score", text: (one) => score(one.score), isNumber: true },
    {
      title: "Interval",
      text: (one) => between(one.interval?.low ?? null, one.interval?.high ?? null, (value) => value.toFixed(2)),
      isNumber: true,
    },
  ]
  const personas: Column<(typeof panel.persona_scores)[number]>[] = [
    { title: "Persona", text: (one) => one.persona_slug },
    { title: "Variant", text: (one) => one.variant_key },
    { title: "Score", text: (one) => score(one.score), isNumber: true },
    { title: "Draws", text: (one) => String(one.draws), isNumber: true },
  ]
  const failed: Column<(typeof panel.failed_cells)[number]>[] = [
    { title: "Persona", text: (one) => one.persona_slug },
    { title: "Variant", text: (one) => one.variant_key },
    { title: "Draw", text: (one) => String(one.draw), isNumber: true },
    { title: "Why", text: (one) => one.reason },
  ]
  return html`<h2>Panel</h2>
<p>${plural(panel.personas.length, "simulated person", "simulated people")} read the variants: how likely each would act, from 1 (certainly not) to 5 (certainly).</p>
<p class="quiet"><bdi>${panel.judge_slug}</bdi>, ${timeText(panel.at)}. ${plural(panel.cells, "answer")}, ${panel.failed_cells.length} failed. ${notes(panel)}</p>
<figure>${intervalFigure({ id: "panel", title: "Panel score of each variant, with its interval over personas", description }, rows, { format: (value) => value.toFixed(1), from: 1, to: 5 })}</figure>
${table("Panel scores.", columns, panel.ranking)}
${panel.kill_list.length > 0 ? html`<h3>To be dropped</h3>${panel.kill_list.map(({ variant_key, reason }) => quoted(variant_key, reason))}` : noHtml}
<h3>By persona</h3>
${table("Mean score of each persona.", personas, panel.persona_scores)}
${panel.failed_cells.length > 0 ? html`<h3>Answers that failed</h3>${table("They count for nothing.", failed, panel.failed_cells)}` : noHtml}`
}

function tournamentPart(tournament: NonNullable<Report["tournament"]>): Html {
  const { ranking, outcome, leader_key } = tournament
  const rows = ranking.map(({ variant_key, strength, low, high }) => ({ label: variant_key, value: strength, low, high }))
  const said = {
    leader: html`<bdi>${leader_key}</bdi> is proven to beat each rival.`,
    equal: html`The variants are as good as equal.`,
    undecided: html`Undecided; about ${plural(tournament.comparisons_to_decision, "more comparison")} would decide.`,
  }[outcome]
  const columns: Column<(typeof ranking)[number]>[] = [
    { title: "Variant", text: (one) => one.represents.join(", ") },
    { title: "Rank", text: (one) => String(one.rank), isNumber: true },
    { title: "Strength", text: (one) => strengthText(one.strength), isNumber: true },
    { title: "Interval", text: (one) => between(one.low, one.high, strengthText), isNumber: true },
    { title: "Win rate expected", text: (one) => percentText(one.score), isNumber: true },
    { title: "Comparisons", text: (one) => String(one.comparisons), isNumber: true },
  ]
  const { position_effect, flip_rate, rounds, skipped_pairs } = tournament
  const seats =
    position_effect === null || flip_rate === null
      ? ""
      : ` The page shown first won ${percentText(position_effect.share_of_first)} of the time; the verdict changed with the seats in ${percentText(flip_rate)} of pairs.`
  return html`<h2>Tournament</h2>
<p>${said}</p>
<blockquote><p dir="auto">${tournament.criteria}</p></blockquote>
<p class="quiet"><bdi>${tournament.judge_slug}</bdi>, ${timeText(tournament.at)}. ${plural(rounds, "pair")} judged in both seats, ${skipped_pairs} of them in vain.${seats} ${notes(tournament)} ${tournament.note}</p>
<figure>${intervalFigure(
    {
      id: "strengths",
      title: "Strength of each variant, with its interval",
      description:
        ranking.length === 0
          ? "No variant was compared."
          : `In order of strength: ${ranking.map(({ variant_key }) => variant_key).join(", ")}.`,
    },
    rows,
    { format: strengthText, mark: 0 },
  )}</figure>
${table("Log-strengths (Bradley-Terry); 0 is the mean. Variants whose intervals overlap share a rank; a proven leader has its own.", columns, ranking)}`
}

function feedbackPart(feedback: Report["feedback"]): Html {
  return html`<h2>Feedback</h2>${feedback.map(({ variant_key, feedback: said, judge_slug, at }) => quoted(variant_key, said, `${judge_slug}, ${timeText(at)}`))}`
}

function quoted(variant: string, said: string, by = ""): Html {
  return html`<blockquote><p class="quiet"><bdi>${variant}</bdi>${by === "" ? "" : ` · ${by}`}</p><p dir="auto">${said}</p></blockquote>`
}
