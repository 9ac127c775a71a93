// Results of real visitors: rates with intervals, each variant against the control, guardrails, and rates over time.
import {
  Badge,
  Chart,
  formatDuration,
  formatNumber,
  formatTime,
  Nothing,
  type Output,
  Time,
  UntrustedText,
  useAnswer,
  withOwnTimes,
} from "#console"
import { guardrailColumns, rateColumns, rateRows } from "../report/columns.ts"
import { intervalText, orDash, percentText } from "../report/numbers.ts"
import { pValueText, sourceText, words } from "../report/sentences.ts"
import { Intervals } from "./intervals.tsx"
import { EvidenceTable, type Experiment, type LiveSection, verdictTones } from "./report.tsx"

type Seen = LiveSection["variants"][number]
type Difference = NonNullable<Output<"experiments.live">["variants"][number]["to_control"]>

function Verdict({ of }: { readonly of: string }) {
  return <Badge tone={verdictTones[of] ?? "plain"}>{words(of)}</Badge>
}

interface VisitorsArgs {
  readonly experiment: Experiment
  readonly live: LiveSection | null
}

export function Visitors({ experiment: { slug, status }, live }: VisitorsArgs) {
  const now = useAnswer(status === "running" ? "experiments.live" : undefined, { slug }, { everyMs: 60_000 }).answer
  const allocations = useAnswer("experiments.list_observations", { slug, judge_slug: "live:allocation", limit: 1 }).answer
  if (live === null) return <Nothing>No visitor was counted yet.</Nothing>
  const { source, as_of, outcome, message, sample_ratio, variants, guardrails, series } = live
  const [allocated] = allocations?.observations ?? []
  const chances = allocated?.details["chances"] as Readonly<Record<string, number>> | undefined
  const ofNow = ({ variant_key }: Seen) => now?.variants.find((one) => one.variant_key === variant_key)
  return (
    <>
      <p>
        {outcome !== "" && <Verdict of={outcome} />} <UntrustedText text={withOwnTimes(message)} />
      </p>
      {now?.to_decision && (
        <p>
          About {formatNumber(now.to_decision.visitors)} more visitors decide it, if the difference seen is the true one
          {now.to_decision.days !== null && `: ${formatDuration(now.to_decision.days * 86_400_000)} at the pace so far`}.
        </p>
      )}
      <p class="about">
        {sourceText(source)} up to <Time value={as_of} />. Intervals hold however often they are looked at.
        {sample_ratio && (
          <>
            {" "}
            Shares of the variants: <Verdict of={sample_ratio.verdict} /> ({pValueText(sample_ratio.p_value)}).
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
      <Intervals label="Conversion rate of each variant, with its interval" rows={rateRows(variants)} format={percentText} from={0} />
      <EvidenceTable<Seen>
        label="Visitors by variant"
        rows={variants}
        columns={rateColumns}
        more={[
          ...(now
            ? [
                { name: "lift", isNumber: true, show: (one: Seen) => orDash(ofNow(one)?.to_control?.lift, percentText) },
                { name: "lift's interval", isNumber: true, show: (one: Seen) => orDash(ofNow(one)?.to_control, liftOf) },
                {
                  name: "against the control",
                  show: (one: Seen) => <Verdict of={ofNow(one)?.to_control?.verdict ?? "the control itself"} />,
                },
              ]
            : []),
          ...(chances
            ? [{ name: "chance of being best", isNumber: true, show: ({ variant_key }: Seen) => orDash(chances[variant_key], percentText) }]
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
          <EvidenceTable
            label="Guardrails"
            rows={guardrails}
            columns={guardrailColumns}
            more={[{ name: "verdict", show: ({ verdict }) => <Verdict of={verdict} /> }]}
          />
        </>
      )}
    </>
  )
}

function liftOf({ lift_low, lift_high }: Difference): string {
  return lift_high === null ? `from ${percentText(lift_low)}` : intervalText(lift_low, lift_high, percentText)
}

function OverTime({ series }: Pick<LiveSection, "series">) {
  const keys = [...new Set(series.flatMap(({ variants }) => variants.map(({ variant_key }) => variant_key)))]
  const rateAt = (day: LiveSection["series"][number], key: string) => day.variants.find(({ variant_key }) => variant_key === key)?.rate ?? 0
  return (
    <Chart
      label="Conversion rate of all visitors so far"
      names={series.map(({ at }) => formatTime(at))}
      series={keys.map((name) => ({ name, values: series.map((day) => rateAt(day, name)) }))}
      format={percentText}
    />
  )
}
