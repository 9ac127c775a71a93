// What real visitors did: rates with their intervals, each variant against the control, guardrails, and rates over time.
import {
  Badge,
  Chart,
  Foreign,
  formatDuration,
  formatNumber,
  formatShare,
  formatTime,
  Nothing,
  Table,
  Time,
  type Tone,
  useAnswer,
  withOwnTimes,
} from "#console"
import { Intervals } from "./intervals.tsx"
import { between, type Experiment, type LiveSection, type Seen, score, share } from "./report.ts"

interface Difference {
  readonly lift: number | null
  readonly lift_low: number
  readonly lift_high: number | null
  readonly verdict: string
}

/** What only an experiment that runs has. */
interface Evidence {
  readonly variants: readonly { readonly variant_key: string; readonly weight: number | null; readonly to_control: Difference | null }[]
  readonly sample_ratio: { readonly causes: readonly { readonly cause: string; readonly variant_key: string; readonly message: string }[] }
  readonly to_decision: { readonly visitors: number; readonly days: number | null } | null
}

interface Allocations {
  readonly observations: readonly {
    readonly created_at: string
    readonly details: { readonly chances?: Readonly<Record<string, number>> }
  }[]
}

const tones: Readonly<Record<string, Tone>> = {
  better: "good",
  control: "good",
  not_harmed: "good",
  as_expected: "good",
  worse: "bad",
  harmed: "bad",
  alarm: "bad",
  sample_ratio_mismatch: "bad",
}

function Verdict({ of }: { readonly of: string }) {
  return <Badge tone={tones[of] ?? "plain"}>{of.replaceAll("_", " ")}</Badge>
}

interface VisitorsArgs {
  readonly experiment: Experiment
  readonly live: LiveSection | null
}

export function Visitors({ experiment: { slug, status }, live }: VisitorsArgs) {
  const now = useAnswer<Evidence>(status === "running" ? "experiments.live" : undefined, { slug }, { everyMs: 60_000 }).answer
  const allocations = useAnswer<Allocations>("experiments.list_observations", { slug, judge_slug: "live:allocation", limit: 1 }).answer
  if (live === null) return <Nothing>No visitor was counted yet.</Nothing>
  const { source, as_of, outcome, message, sample_ratio, variants, guardrails, series } = live
  const [allocated] = allocations?.observations ?? []
  const chances = allocated?.details.chances
  const ofNow = ({ variant_key }: Seen) => now?.variants.find((one) => one.variant_key === variant_key)
  return (
    <>
      <p>
        {outcome !== "" && <Verdict of={outcome} />} <Foreign text={withOwnTimes(message)} />
      </p>
      {now?.to_decision && (
        <p>
          About {formatNumber(now.to_decision.visitors)} more visitors decide it, if the difference seen is the true one
          {now.to_decision.days !== null && `: ${formatDuration(now.to_decision.days * 86_400_000)} at the pace so far`}.
        </p>
      )}
      <p class="about">
        {source === "ledger" ? "As the ledger has it" : "Counted"} up to <Time value={as_of} />. Intervals hold however often they are
        looked at.
        {sample_ratio && (
          <>
            {" "}
            Shares of the variants: <Verdict of={sample_ratio.verdict} /> (p = {sample_ratio.p_value.toPrecision(2)}).
          </>
        )}
      </p>
      {now && now.sample_ratio.causes.length > 0 && (
        <ul class="lines">
          {now.sample_ratio.causes.map(({ cause, variant_key, message: why }) => (
            <li key={`${cause} ${variant_key}`}>{why}</li>
          ))}
        </ul>
      )}
      <Intervals
        label="Conversion rate of each variant, with its interval"
        rows={variants.map(({ variant_key, visitors, rate, rate_low, rate_high }) => ({
          label: variant_key,
          value: rate,
          low: visitors > 0 ? rate_low : null,
          high: visitors > 0 ? rate_high : null,
        }))}
        format={formatShare}
        from={0}
      />
      <Table<Seen>
        label="Visitors by variant"
        rows={variants}
        keyOf={({ variant_key }) => variant_key}
        columns={[
          { name: "variant", show: ({ variant_key }) => <code>{variant_key}</code> },
          { name: "visitors", isNumber: true, show: ({ visitors }) => formatNumber(visitors) },
          { name: "conversions", isNumber: true, show: ({ conversions }) => formatNumber(conversions) },
          { name: "rate", isNumber: true, show: ({ rate }) => share(rate) },
          { name: "interval", isNumber: true, show: ({ rate_low, rate_high }) => between(rate_low, rate_high, formatShare) },
          ...(now
            ? [
                { name: "lift", isNumber: true, show: (one: Seen) => share(ofNow(one)?.to_control?.lift ?? null) },
                { name: "lift's interval", isNumber: true, show: (one: Seen) => liftOf(ofNow(one)?.to_control ?? null) },
                {
                  name: "against the control",
                  show: (one: Seen) => <Verdict of={ofNow(one)?.to_control?.verdict ?? "the control itself"} />,
                },
              ]
            : []),
          ...(chances
            ? [{ name: "chance of being best", isNumber: true, show: ({ variant_key }: Seen) => share(chances[variant_key] ?? null) }]
            : []),
        ]}
      />
      {chances && (
        <p class="about">
          Chances of being best are those that the weights were last set by, <Time value={allocated?.created_at} />.
        </p>
      )}
      {series.length > 1 && <OverTime series={series} />}
      {guardrails.length > 0 && (
        <>
          <h3>Guardrails</h3>
          <Table
            label="Guardrails"
            rows={guardrails}
            keyOf={({ metric, variant_key }) => `${metric} ${variant_key}`}
            columns={[
              { name: "metric", show: ({ metric }) => metric.replaceAll("_", " ") },
              { name: "variant", show: ({ variant_key }) => <code>{variant_key}</code> },
              { name: "value", isNumber: true, show: ({ value }) => score(value) },
              { name: "interval", isNumber: true, show: ({ low, high }) => between(low, high, score) },
              { name: "verdict", show: ({ verdict }) => <Verdict of={verdict} /> },
            ]}
          />
        </>
      )}
    </>
  )
}

function liftOf(to: Difference | null): string {
  if (to === null) return "–"
  return to.lift_high === null ? `from ${formatShare(to.lift_low)}` : between(to.lift_low, to.lift_high, formatShare)
}

function OverTime({ series }: Pick<LiveSection, "series">) {
  const keys = [...new Set(series.flatMap(({ variants }) => variants.map(({ variant_key }) => variant_key)))]
  const rateAt = (day: LiveSection["series"][number], key: string) => day.variants.find(({ variant_key }) => variant_key === key)?.rate ?? 0
  return (
    <Chart
      label="Conversion rate of all visitors so far"
      names={series.map(({ at }) => formatTime(at))}
      series={keys.map((name) => ({ name, values: series.map((day) => rateAt(day, name)) }))}
      format={formatShare}
    />
  )
}
