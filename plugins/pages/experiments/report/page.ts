// The report as one HTML document with its own style, without scripts or external addresses.
import { createHash } from "node:crypto"
import { Html, html, noHtml } from "#core"
import {
  type Column,
  failureColumns,
  guardrailColumns,
  panelColumns,
  panelRows,
  personaColumns,
  rateColumns,
  rateRows,
  strengthRows,
  summaryColumns,
  tournamentColumns,
} from "./columns.ts"
import { funnelFigure, intervalFigure, sequenceFigure } from "./figures.ts"
import { intervalText, percentText, percentTick, plural, scoreText, strengthText, timeText } from "./numbers.ts"
import type { LiveSection, Report } from "./resource.ts"
import { answersText, outcomeText, panelText, pValueText, roundsText, sourceText, words } from "./sentences.ts"
import { style } from "./style.ts"

const policy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'`

/** The only unescaped text: the policy contains its digest. */
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

function summaryPart({ summary }: Report): Html {
  return html`<h2>All evidence</h2>${table("What each kind of evidence says of each variant.", summaryColumns, summary)}`
}

function livePart({ source, as_of, message, sample_ratio, variants, guardrails, series }: LiveSection): Html {
  const best = variants.reduce<(typeof variants)[number] | undefined>(
    (top, variant) => ((variant.rate ?? -1) > (top?.rate ?? -1) ? variant : top),
    undefined,
  )
  const description =
    best?.rate == null
      ? "No visitors yet."
      : `${best.variant_key} converts most, ${percentText(best.rate)} of ${plural(best.visitors, "visitor")}.`
  const guarded = [...guardrailColumns, { title: "Verdict", text: (row: LiveSection["guardrails"][number]) => words(row.verdict) }]
  return html`<h2>Visitors</h2>
<p>${message}</p>
<p class="quiet">${sourceText(source)}${as_of === null ? "" : `, up to ${timeText(as_of)}`}. Intervals hold however often they are looked at.${
    sample_ratio === null ? "" : ` Shares of the variants: ${words(sample_ratio.verdict)} (${pValueText(sample_ratio.p_value)}).`
  }</p>
<h3>Conversion rate</h3>
<figure>${intervalFigure({ id: "rates", title: "Conversion rate of each variant, with its interval", description }, rateRows(variants), { format: percentTick, from: 0 })}</figure>
${table("Visitors, conversions and rates.", rateColumns, variants)}
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
      const variant = variants.find(({ variant_key }) => variant_key === label)
      return variant?.rate == null ? [] : [{ at: Date.parse(at), value: variant.rate, low: variant.rate_low, high: variant.rate_high }]
    }),
  }))
  const visible = sequences.filter(({ points }) => points.length > 0)
  if (visible.length === 0) return noHtml
  const last = series.at(-1)
  const columns: Column<LiveSection["series"][number]>[] = [
    { title: "Until", text: ({ at }) => timeText(at), isTime: true },
    ...keys.map((key) => ({
      title: key,
      isNumber: true,
      text: ({ variants }: LiveSection["series"][number]) => {
        const variant = variants.find(({ variant_key }) => variant_key === key)
        return variant?.rate == null
          ? "–"
          : `${percentText(variant.rate)} (${intervalText(variant.rate_low, variant.rate_high, percentText)})`
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
    visible,
    { format: percentTick, formatAt: (at) => new Date(at).toISOString().slice(0, 10) },
  )}</figure>
${table("Rates of all visitors so far, with their intervals.", columns, thinned(series))}`
}

const maxRows = 14

/** Returns evenly spaced items, always including the last item. */
function thinned<T>(all: readonly T[]): T[] {
  const step = Math.ceil(all.length / maxRows)
  return all.filter((_, place) => (all.length - 1 - place) % step === 0)
}

function panelPart(panel: NonNullable<Report["panel"]>): Html {
  const [first] = panel.ranking
  const description = first?.score == null ? "No cell succeeded." : `${first.variant_key} is first with ${scoreText(first.score)} of 5.`
  return html`<h2>Panel</h2>
<p>${panelText(panel)}</p>
<p class="quiet"><bdi>${panel.judge_slug}</bdi>, ${timeText(panel.at)}. ${answersText(panel)}</p>
<figure>${intervalFigure({ id: "panel", title: "Panel score of each variant, with its interval over personas", description }, panelRows(panel.ranking), { format: (value) => value.toFixed(1), from: 1, to: 5 })}</figure>
${table("Panel scores.", panelColumns, panel.ranking)}
${panel.kill_list.length > 0 ? html`<h3>To be dropped</h3>${panel.kill_list.map(({ variant_key, reason }) => quoted(variant_key, reason))}` : noHtml}
<h3>By persona</h3>
${table("Mean score of each persona.", personaColumns, panel.persona_scores)}
${panel.failed_cells.length > 0 ? html`<h3>Answers that failed</h3>${table("They count for nothing.", failureColumns, panel.failed_cells)}` : noHtml}`
}

function tournamentPart(tournament: NonNullable<Report["tournament"]>): Html {
  const { ranking } = tournament
  return html`<h2>Tournament</h2>
<p>${outcomeText(tournament)}</p>
<blockquote><p dir="auto">${tournament.criteria}</p></blockquote>
<p class="quiet"><bdi>${tournament.judge_slug}</bdi>, ${timeText(tournament.at)}. ${roundsText(tournament)}</p>
<figure>${intervalFigure(
    {
      id: "strengths",
      title: "Strength of each variant, with its interval",
      description:
        ranking.length === 0
          ? "No variant was compared."
          : `In order of strength: ${ranking.map(({ variant_key }) => variant_key).join(", ")}.`,
    },
    strengthRows(ranking),
    { format: strengthText, mark: 0 },
  )}</figure>
${table("Log-strengths (Bradley-Terry); 0 is the mean. Variants whose intervals overlap share a rank; a proven leader has its own.", tournamentColumns, ranking)}`
}

function feedbackPart(feedback: Report["feedback"]): Html {
  return html`<h2>Feedback</h2>${feedback.map(({ variant_key, feedback: text, judge_slug, at }) => quoted(variant_key, text, `${judge_slug}, ${timeText(at)}`))}`
}

function quoted(variant: string, text: string, by = ""): Html {
  return html`<blockquote><p class="quiet"><bdi>${variant}</bdi>${by === "" ? "" : ` · ${by}`}</p><p dir="auto">${text}</p></blockquote>`
}

/** Renders a table of the report. The first column is the row's header. */
function table<T>(caption: string, columns: readonly Column<T>[], rows: readonly T[]): Html {
  const heads = columns.map(({ title, isNumber }) => html`<th scope="col"${isNumber ? numeric : plain}><bdi>${title}</bdi></th>`)
  const body = rows.map((row) => {
    const cells = columns.map(({ text, isNumber, isTime }, place) =>
      place === 0
        ? html`<th scope="row"${isTime ? time : plain}><bdi>${text(row)}</bdi></th>`
        : html`<td${isNumber ? numeric : plain}><bdi>${text(row)}</bdi></td>`,
    )
    return html`<tr>${cells}</tr>`
  })
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table><caption>${caption}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>${body}</tbody></table></div>`
}

const numeric = html` class="n"`
const time = html` class="time"`
const plain = html``
