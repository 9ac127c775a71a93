// Statistics plan of an experiment, and the stopping report. The report compares a stop now with a test of a fixed size. Pure.
import { z } from "zod"
import type { StoredExperiment } from "../collections.ts"
import { fixedHorizonVisitors } from "../statistics/distributions.ts"
import { type CountedVisitors, dayMs, sumOf } from "./counts.ts"
import type { StoppingReport } from "./resource.ts"

export const Plan = z.strictObject({
  alpha: z.number().min(0.001).max(0.2).default(0.05).describe("Chance that any verdict on the goal is wrong, over the whole experiment."),
  power: z.number().min(0.5).max(0.99).default(0.8).describe("Of the test of a fixed size that a stop is compared with."),
  minimum_effect_percent: z
    .number()
    .min(0.1)
    .max(1_000)
    .default(10)
    .describe("Smallest lift that the test of a fixed size is to find, in percent of the control's rate."),
  cost_per_visitor_millicents: z
    .number()
    .min(0)
    .max(1e9)
    .nullable()
    .default(null)
    .describe("What a visitor costs, as in advertising; null: what more visitors cost is not said."),
})

/** Also supports experiments of earlier versions. */
export function planOf({ plan }: { readonly plan?: z.output<typeof Plan> }): z.output<typeof Plan> {
  return plan ?? Plan.parse({})
}

type Report = z.input<typeof StoppingReport>

/** Covers all visitors until the period's end, including an incomplete week. */
export function stoppingReport(experiment: StoredExperiment, { counts, segments, period }: CountedVisitors): Report {
  const plan = planOf(experiment)
  const ofControl = counts.cells.filter(({ variant }) => variant === 0)
  const visitors = sumOf(counts.cells, "visitors")
  const baselineRate = ofControl.length > 0 ? sumOf(ofControl, "conversions") / sumOf(ofControl, "visitors") : null
  const days = Math.max(0, period.until - (period.from ?? period.until)) / dayMs
  const planned = fixedHorizonVisitors({
    baselineRate: baselineRate ?? 0,
    relativeEffect: plan.minimum_effect_percent / 100,
    alpha: plan.alpha,
    power: plan.power,
    shares: segments[0]?.shares ?? [],
  })
  const saved = planned === undefined ? null : planned - visitors
  const plannedDays = planned === undefined || visitors === 0 || days === 0 ? null : planned / (visitors / days)
  const cost = plan.cost_per_visitor_millicents
  return {
    visitors,
    days,
    fixed_horizon_visitors: planned ?? null,
    fixed_horizon_days: plannedDays,
    visitors_saved: saved,
    days_saved: plannedDays === null ? null : plannedDays - days,
    millicents_saved: saved === null || cost === null ? null : saved * cost,
    baseline_rate: baselineRate,
    relative_effect: plan.minimum_effect_percent / 100,
    alpha: plan.alpha,
    power: plan.power,
  }
}
