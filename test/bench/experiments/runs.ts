// Costs and ranking quality of experiments: fitting, the ledger, the report of a million visitors. By simulation: the comparisons
// saved by chosen pairs, and the coverage of intervals.
import { rmSync } from "node:fs"
import { Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import type { Row as DatasetRow } from "../../../plugins/data/datasets/index.ts"
import { ExperimentResource, type StoredExperiment } from "../../../plugins/pages/experiments/experiment.ts"
import { kendall } from "../../../plugins/pages/experiments/judges/calibration.ts"
import { Ledger } from "../../../plugins/pages/experiments/ledger.ts"
import type { Comparison } from "../../../plugins/pages/experiments/statistics/ranking/comparisons.ts"
import { fitRanking, fitStrengths } from "../../../plugins/pages/experiments/statistics/ranking/fit.ts"
import { play } from "../../plugins/experiments/simulated-tournament.ts"
import { randomFrom } from "../../random.ts"
import { benchFolder } from "../machine.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { AnalyticsFixture, seal } from "../pages/sealed-events.ts"
import { firstAt, rowAt } from "../pages/synthetic-events.ts"
import { median, type Row, rowOf } from "../table.ts"

const names = {
  fit: "experiments/fit",
  ledger: "experiments/ledger",
  report: "experiments/report",
  pairs: "experiments/chosen-pairs",
  intervals: "experiments/intervals",
}
/** Milliseconds. */
const goals = { fit: 50, ledger: 20, report: 2_000 }

export async function* experimentRows(options: BenchOptions): AsyncGenerator<Row> {
  if (isSelected(options, names.fit)) yield fitRow(options)
  if (isSelected(options, `${names.pairs}/`)) for (const row of pairsRows(options)) if (isSelected(options, row.name)) yield row
  if (isSelected(options, names.intervals)) yield intervalsRow(options)
  if (isSelected(options, names.ledger) || isSelected(options, names.report)) {
    for await (const row of serviceRows(options)) if (isSelected(options, row.name)) yield row
  }
}

const logistic = (odds: number) => 1 / (1 + Math.exp(-odds))

function compared(truth: readonly number[], count: number, random: () => number): Comparison[] {
  return Array.from({ length: count }, () => {
    const value = Math.floor(random() * truth.length)
    const other = (value + 1 + Math.floor(random() * (truth.length - 1))) % truth.length
    const wins = random() < logistic((truth[value] ?? 0) - (truth[other] ?? 0))
    return { a: String(value), b: String(other), winner: wins ? "a" : "b", count: 1 }
  })
}

function fitRow({ note, runs = 20 }: BenchOptions): Row {
  note(`${names.fit}: 10,000 comparisons of 100 variants, ${runs} times`)
  const random = randomFrom(1)
  const truth = Array.from({ length: 100 }, () => (random() - 0.5) * 4)
  const cpu: number[] = []
  const took = (): number => {
    const comparisons = compared(truth, 10_000, random)
    const [began, used] = [performance.now(), process.cpuUsage()]
    fitStrengths(comparisons, "bradley-terry", { regularise: true })
    cpu.push(process.cpuUsage(used).user / 1_000)
    return performance.now() - began
  }
  const first = took()
  const times = Array.from({ length: runs }, took)
  const detail = `${Math.round(median(cpu))} ms of the processor; the first of the process: ${Math.round(first)} ms`
  return rowOf(names.fit, "ms", times, "goal", [goals.fit], detail)
}

/** Measures the agreement of the ranking with the truth after equal rounds, and the rounds to the leader's proof. */
function* pairsRows({ note }: BenchOptions): Generator<Row> {
  const [tournaments, variants, rounds, maxRounds] = [100, 6, 60, 600]
  note(`${names.pairs}: ${tournaments} tournaments of ${variants} variants`)
  const truths = Array.from({ length: tournaments }, (_, seed) => {
    const random = randomFrom(seed)
    return Array.from({ length: variants }, () => (random() - 0.5) * 4)
  })
  const agreement = (chosen: boolean): number[] =>
    truths.map((truth, seed) => {
      const { order } = play(truth, { maxRounds: rounds, random: randomFrom(1_000 + seed), chosen, playsOn: true })
      return kendall(order.map((key, place) => [-place, truth[Number(key)] ?? 0])) ?? 0
    })
  // One clearly best variant: among equals no pairs prove a leader.
  const toLeader = (chosen: boolean): number[] =>
    truths.slice(0, 40).map((truth, seed) => play([3.5, ...truth.slice(1)], { maxRounds, random: randomFrom(2_000 + seed), chosen }).rounds)
  yield rowOf(
    `${names.pairs}/ranking`,
    "tau",
    agreement(true),
    "random pairs",
    agreement(false),
    `after ${rounds} rounds; 1: the true ranking`,
  )
  yield rowOf(
    `${names.pairs}/leader`,
    "rounds",
    toLeader(true),
    "random pairs",
    toLeader(false),
    `to the leader's proof; ${maxRounds} at most`,
  )
}

function intervalsRow({ note }: BenchOptions): Row {
  const sets = 2_000
  note(`${names.intervals}: ${sets} data sets of 400 comparisons of five variants`)
  const random = randomFrom(3)
  const truth = [0.9, 0.4, 0, -0.3, -1]
  let total = 0
  for (let set = 0; set < sets; set++) {
    for (const { key, strength, se } of fitRanking(compared(truth, 400, random), "bradley-terry").ranking)
      if (Math.abs(strength - (truth[Number(key)] ?? 0)) <= 1.96 * se) total++
  }
  return rowOf(names.intervals, "%", [(total / sets / truth.length) * 100], "nominal", [95], "how often they hold the truth; goal 93 to 97")
}

async function* serviceRows(options: BenchOptions): AsyncGenerator<Row> {
  const dataDir = benchFolder()
  // One process per query; only this file seals.
  const settings = { "page-analytics": { idle_ms: 0, deadline_ms: 120_000, memory_mb: 4_096 } }
  const env = {
    MILLRACE_LOG_LEVEL: "warn",
    MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings),
    MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "1000000",
    MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "1000000",
  }
  const host = await testHost({ dataDir, env })
  try {
    if (isSelected(options, names.ledger)) yield await ledgerRow(host, options)
    if (isSelected(options, names.report)) yield await reportRow(host, dataDir, options)
  } finally {
    await host.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function createExperiment(host: TestHost, name: string): Promise<StoredExperiment> {
  const variants = ["a", "b", "c"].map((key) => ({ key, html: `<h1>${key}</h1>` }))
  const { slug: page } = (await host.api<{ slug: string }>("POST", "/v1/pages", { title: name, variants })).body
  await host.api("POST", `/v1/pages/${page}/publish`)
  const { slug } = (await host.api<{ slug: string }>("POST", "/v1/experiments", { name, page })).body
  await host.api("POST", `/v1/experiments/${slug}/start`)
  return (await host.get(Store).open(ExperimentResource.collection, host.organization.id).first({ slug })) as StoredExperiment
}

async function timed(host: TestHost, path: string): Promise<number> {
  const began = performance.now()
  const { status } = await host.api("GET", path)
  if (status !== 200) throw new Error(`GET ${path}: ${status}`)
  return performance.now() - began
}

async function ledgerRow(host: TestHost, { note, runs = 20 }: BenchOptions): Promise<Row> {
  const count = 100_000
  note(`${names.ledger}: first page of ${count} observations, ${runs} times`)
  const experiment = await createExperiment(host, "Ledger")
  for (let first = 0; first < count; first += 1_000) {
    await host.get(UnitsOfWork).run((work) => {
      for (let place = first; place < first + 1_000; place++) {
        const variant_key = "abc"[place % 3] ?? "a"
        const answer = { value: (place % 5) + 1, reason: "I would go on, since the page says what it costs.", details: { draw: place } }
        host
          .get(Ledger)
          .add(work, host.organization.id, experiment, { kind: "panel", variant_key, judge_slug: `persona:${place % 50}`, ...answer })
      }
    })
  }
  const path = `/v1/experiments/${experiment.slug}/observations?limit=50`
  await timed(host, path)
  const times: number[] = []
  for (let run = 0; run < runs; run++) times.push(await timed(host, path))
  return rowOf(names.ledger, "ms", times, "goal", [goals.ledger], `50 of ${count} observations`)
}

async function reportRow(host: TestHost, dataDir: string, { note, runs = 5 }: BenchOptions): Promise<Row> {
  const sessions = 1_000_000
  const count = sessions + sessions / 20
  note(`${names.report}: ${sessions} exposures in ${count} events`)
  const { id, slug, page_id } = await createExperiment(host, "Report")
  const month = { started_at: new Date(firstAt).toISOString(), ended_at: new Date(firstAt + 30 * 86_400_000).toISOString() }
  await host.get(UnitsOfWork).run((work) => work.in(ExperimentResource.collection, host.organization.id).update(id, { $set: month }))
  const fixture = await AnalyticsFixture.make(host, dataDir)
  try {
    const exposure = (index: number): DatasetRow => {
      const row = rowAt(index, count, fixture.dataset.id)
      // Every twentieth view is followed by a lead.
      const session = Math.floor(index / 21) * 20 + Math.min(index % 21, 19)
      const values = {
        ...row.values,
        artifact_id: page_id ?? "",
        variant: "abc"[session % 3] ?? "a",
        session_id: `s${session}`,
        is_test: false,
      }
      return { ...row, values: { ...values, event: index % 21 === 20 ? "lead" : "pageview" } }
    }
    await seal(fixture, exposure, count)
    const path = `/v1/experiments/${slug}/report`
    const { live } = (await host.api<{ live: { source: string; variants: { visitors: number }[] } | null }>("GET", path)).body
    const visitors = live?.variants.reduce((sum, variant) => sum + variant.visitors, 0) ?? 0
    if (live?.source !== "visitors" || visitors < sessions * 0.9) throw new Error(`${names.report}: the run is void: ${visitors} visitors`)
    const times: number[] = []
    for (let run = 0; run < runs; run++) times.push(await timed(host, path))
    return rowOf(names.report, "ms", times, "goal", [goals.report], `${visitors} visitors counted in full weeks of ${count} events`)
  } finally {
    await fixture.engine.stop()
  }
}
