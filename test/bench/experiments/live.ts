// Error rates of live evidence in a thousand simulated experiments with daily looks, and the cost of counting a million visitors.
import { errorsOf, plannedTest, quantileMissed, type Truth } from "../../plugins/experiments/simulated-experiments.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { type Row, rowOf } from "../table.ts"
import { countingRow } from "./counting.ts"

const experiments = 1_000
const alike: Truth = { days: 28, visitorsPerDay: 200, rates: [0.05, 0.05] }

const truths: Readonly<Record<string, Truth>> = {
  alike,
  "alike-rare": { ...alike, rates: [0.005, 0.005] },
  "alike-half": { ...alike, rates: [0.5, 0.5] },
  "alike-weekends-thompson": { days: 21, visitorsPerDay: 200, rates: [0.1, 0.1, 0.1], weekends: true, thompson: true },
  better: { days: 28, visitorsPerDay: 400, rates: [0.05, 0.08] },
  "better-thompson": { days: 21, visitorsPerDay: 400, rates: [0.05, 0.08], thompson: true },
}

/** Percent of experiments with an error on any day, next to the allowed percentage. */
export async function* liveRows(options: BenchOptions): AsyncGenerator<Row> {
  const { note } = options
  for (const [name, truth] of Object.entries(truths)) {
    const row = `experiments/live/${name}`
    if (!isSelected(options, `${row}/`)) continue
    note(`${row}: ${experiments} experiments of ${truth.days} days`)
    const errors = errorsOf(truth, experiments, 1)
    const text = `told apart ${(100 * errors.verdict).toFixed(1)} %, by a test a day ${(100 * errors.naiveVerdict).toFixed(1)} %; mean days ${errors.meanDays.toFixed(1)}`
    yield rowOf(`${row}/wrong-verdict`, "%", [100 * errors.wrongVerdict], "allowed", [5], text)
    yield rowOf(`${row}/difference-missed`, "%", [100 * errors.differenceMissed], "allowed", [5])
    // A miss of any variant; each variant may miss with this probability.
    yield rowOf(`${row}/rate-missed`, "%", [100 * errors.rateMissed], "allowed", [5 * truth.rates.length])
    yield rowOf(`${row}/ratio-alarm`, "%", [100 * errors.ratioAlarm], "allowed", [1])
  }
  if (isSelected(options, "experiments/live/percentile-missed")) {
    yield rowOf("experiments/live/percentile-missed", "%", [100 * quantileMissed(experiments, 1)], "allowed", [5])
  }
  if (isSelected(options, "experiments/live/ratio-found")) {
    const { ratioAlarm } = errorsOf({ days: 10, visitorsPerDay: 400, rates: [0.1, 0.1], lost: 0.15 }, experiments, 1)
    yield rowOf("experiments/live/ratio-found", "%", [100 * ratioAlarm], "all", [100], "a variant loses 15 % of its visitors, 4,000 in all")
  }
  if (isSelected(options, "experiments/live/planned-")) {
    const { power, error } = plannedTest(experiments, 1)
    yield rowOf("experiments/live/planned-power", "%", [100 * power], "planned", [80])
    yield rowOf("experiments/live/planned-error", "%", [100 * error], "planned", [5])
  }
  if (isSelected(options, "experiments/live/count")) yield await countingRow(options)
}
