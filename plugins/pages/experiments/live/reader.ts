// Reads the live evidence of an experiment: counts its visitors in the columnar copy and judges the counts.
// An ended experiment is judged as of its end.
import { AppError, type Deps, token } from "#core"
import { Datasets } from "../../../data/datasets/index.ts"
import { PageAnalytics } from "../../page-analytics/index.ts"
import { Pages, type StoredPage } from "../../pages/index.ts"
import type { StoredExperiment } from "../collections.ts"
import { binEdges, type CountingQuery, countsSql, strataSql } from "./counting-query.ts"
import { type Cell, type CountedVisitors, dayMs, type LiveCounts, type Period, type VitalBin } from "./counts.ts"
import { type DatasetConversions, datasetConversions, noConversions } from "./dataset-conversions.ts"
import { liveEvidence, type WindowKind, windowDays } from "./evidence.ts"
import { type WeightSegment, weightSegments } from "./page-weights.ts"
import { planOf } from "./plan.ts"
import { ratioCauses, type Stratum } from "./ratio-causes.ts"
import type { LiveEvidence } from "./resource.ts"

export const liveEvidenceReaderNeeds = { pages: Pages, analytics: PageAnalytics, datasets: Datasets }

export interface LiveOptions {
  readonly window: WindowKind
  readonly signal: AbortSignal
}

export interface LiveEvidenceReader {
  /** Throws `unavailable`, `resource_exhausted` or `deadline_exceeded` if the copy of the events is unavailable. */
  of(organization: string, experiment: StoredExperiment, options: LiveOptions): Promise<LiveEvidence>
  /** Returns the evidence with its counts. */
  read(
    organization: string,
    experiment: StoredExperiment,
    options: LiveOptions,
  ): Promise<{ evidence: LiveEvidence; counted: CountedVisitors }>
}

export const LiveEvidenceReader = token<LiveEvidenceReader>("LiveEvidenceReader")

const nothing: LiveCounts = { cells: [], vitals: [] }

interface Counting extends CountedVisitors {
  readonly page: StoredPage | undefined
  readonly query: CountingQuery | undefined
}

export function createLiveEvidenceReader({ pages, analytics, datasets }: Deps<typeof liveEvidenceReaderNeeds>): LiveEvidenceReader {
  async function rows(organization: string, sql: string, signal: AbortSignal) {
    const result = await analytics.read(organization, sql, signal)
    if (!result.truncated) return result
    throw new AppError("resource_exhausted", "The experiment has more days and times of constant weights than can be counted at once.", {
      reason: "too_many_counts",
    })
  }

  async function count(organization: string, experiment: StoredExperiment, { window, signal }: LiveOptions): Promise<Counting> {
    // Uses one time for all reads: later events are missing from the copy, or only partly present.
    const { as_of: asOf, enabled } = await analytics.status(organization)
    const period = periodOf(experiment, asOf)
    const { from, until } = period
    const page = experiment.page_id === null ? undefined : await pages.get(organization, experiment.page_id)
    const weights = Object.fromEntries((page?.variants ?? []).map(({ key, weight }) => [key, weight]))
    if (from === undefined || experiment.page_id === null) {
      return { period, page, weights, counts: nothing, unlinked: 0, segments: [], asOf, enabled, query: undefined }
    }
    const changes = await pages.weightChanges(organization, experiment.page_id, from)
    const weighted = weightSegments(experiment.variants, { changes, now: weights, startedAt: from })
    // The first segment also applies to a copy without events of the experiment.
    const segments = weighted.filter((segment, place) => place === 0 || segment.from < until)
    const { goal } = experiment
    const rowsThere =
      goal.kind === "dataset" ? await datasetConversions(datasets, organization, experiment, goal, { from, until }) : noConversions
    const query: CountingQuery = {
      pageId: experiment.page_id,
      variants: experiment.variants.map(({ page_variant }) => page_variant),
      goal,
      converted: rowsThere.sessions,
      from,
      until,
      windowDays: windowDays(window, period),
      segments: segments.map((segment) => segment.from),
      metrics: new Set(experiment.guardrails.map(({ metric }) => metric)),
    }
    const result = await rows(organization, countsSql(query), signal)
    const counts = withUnlinked(countsOf(result.rows), rowsThere, from, segments)
    return {
      period,
      page,
      weights,
      counts,
      unlinked: rowsThere.unlinked.length,
      segments,
      asOf,
      enabled,
      query,
    }
  }

  async function read(organization: string, experiment: StoredExperiment, options: LiveOptions) {
    const { page, query, ...counted } = await count(organization, experiment, options)
    const evidence = liveEvidence({ ...counted, experiment, plan: planOf(experiment), kind: options.window })
    if (evidence.sample_ratio.verdict !== "alarm" || !query) return { evidence, counted }
    const strata = await rows(organization, strataSql(query), options.signal)
    const causes = ratioCauses({
      variants: experiment.variants,
      visitors: evidence.sample_ratio.variants.map(({ visitors }) => visitors),
      expected: evidence.sample_ratio.variants.map(({ expected }) => expected),
      html: experiment.variants.map(({ page_variant }) => page?.variants.find(({ key }) => key === page_variant)?.html),
      ...signsOf(strata.rows, experiment.variants.length),
    })
    return { evidence: { ...evidence, sample_ratio: { ...evidence.sample_ratio, causes } }, counted }
  }

  return { read, of: async (...args) => (await read(...args)).evidence }
}

function periodOf({ started_at, ended_at, decision, status, updated_at }: StoredExperiment, asOf: string | null): Period {
  const ended = ended_at ?? decision?.decided_at ?? (status === "archived" ? updated_at : asOf)
  const from = started_at === null ? undefined : Date.parse(started_at)
  return { from, until: Math.max(from ?? 0, ended === null ? 0 : Date.parse(ended)) }
}

function countsOf(rows: readonly (readonly unknown[])[]): LiveCounts {
  const cells: Cell[] = []
  const vitals: VitalBin[] = []
  for (const [what, ...numbers] of rows) {
    const [place = 0, segment = 0, variant = 0, visitors = 0, conversions = 0, rage_clicks = 0, scroll_bails = 0, form_abandons = 0] =
      numbers.map(Number)
    if (what === "cell") cells.push({ day: place, segment, variant, visitors, conversions, rage_clicks, scroll_bails, form_abandons })
    else vitals.push({ metric: String(what), variant, count: visitors, ...binEdges(String(what), place) })
  }
  return {
    cells: cells.sort((left, right) => left.day - right.day || left.segment - right.segment || left.variant - right.variant),
    vitals: vitals.sort((left, right) => left.from - right.from),
  }
}

/** Adds conversions without a session to visitors of their day. Their number is bounded by the number of visitors. */
function withUnlinked(
  { cells, vitals }: LiveCounts,
  { unlinked }: DatasetConversions,
  from: number,
  segments: readonly WeightSegment[],
): LiveCounts {
  if (unlinked.length === 0) return { cells, vitals }
  const more = new Map<string, number>()
  for (const { variant, at } of unlinked) {
    const segment = segments.findLastIndex((candidate) => candidate.from <= at)
    const key = `${Math.floor((at - from) / dayMs)} ${Math.max(0, segment)} ${variant}`
    more.set(key, (more.get(key) ?? 0) + 1)
  }
  return {
    vitals,
    cells: cells.map((cell) => {
      const added = more.get(`${cell.day} ${cell.segment} ${cell.variant}`) ?? 0
      return { ...cell, conversions: Math.min(cell.visitors, cell.conversions + added) }
    }),
  }
}

function signsOf(rows: readonly (readonly unknown[])[], variantCount: number) {
  const leads = Array.from({ length: variantCount }, () => ({ all: 0, withoutView: 0 }))
  const strata: Stratum[] = []
  for (const [what, value, variant, visitors, withoutView] of rows) {
    if (what === "lead") leads[Number(variant)] = { all: Number(visitors), withoutView: Number(withoutView) }
    else
      strata.push({ dimension: what as Stratum["dimension"], value: String(value), variant: Number(variant), visitors: Number(visitors) })
  }
  return { leads, strata }
}
