// Live evidence for callers: results of real visitors, with intervals valid at any number of looks.
import { z } from "zod"
import { Timestamp } from "#core"
import { statuses } from "../collections.ts"

const Bound = z.number().nullable()

const Difference = z.object({
  difference: Bound.describe("Rate less the control's, with weights that changed accounted for; null without visitors of both."),
  difference_low: z.number(),
  difference_high: z.number(),
  lift: Bound.describe("Rate divided by the control's, less 1; null where the control has no conversion."),
  lift_low: z.number(),
  lift_high: Bound.describe("Null where nothing bounds it yet."),
  verdict: z.enum(["better", "worse", "cannot_tell"]),
})

/** Visitors of one variant. */
export const Seen = z.object({
  variant_key: z.string(),
  visitors: z.int(),
  conversions: z.int(),
  rate: Bound,
  rate_low: z.number(),
  rate_high: z.number(),
})

const DescribedSeen = Seen.extend({ rate: Bound.describe("conversions / visitors; null without visitors.") })

const Guarded = z.object({
  variant_key: z.string(),
  n: z.int().describe("Visitors, or measurements of a web vital, one a visitor."),
  value: Bound.describe("75th percentile of a web vital; share of visitors with such an event otherwise."),
  low: z.number(),
  high: Bound.describe("Null where nothing bounds it yet."),
  increase_percent: Bound.describe("Against the first variant; null of that one itself, and where it has none."),
  increase_low_percent: Bound,
  increase_high_percent: Bound,
  verdict: z.enum(["control", "harmed", "not_harmed", "cannot_tell"]),
})

const ratioCauses = ["no_beacon", "redirect", "bots", "one_browser", "one_device", "in_app", "unknown"] as const

const SampleRatio = z.object({
  verdict: z.enum(["as_expected", "alarm", "no_visitors"]),
  p_value: z.number().describe("Always valid: the smallest so far counts, however often it is looked at."),
  alpha: z.number().describe("Chance of an alarm where the weights are kept, over the whole experiment."),
  first_alarm_at: Timestamp.nullable().describe("End of the first day with an alarm."),
  variants: z.array(z.object({ variant_key: z.string(), visitors: z.int(), expected: z.number() })),
  causes: z
    .array(z.object({ cause: z.enum(ratioCauses), variant_key: z.string(), message: z.string() }))
    .describe("Likely causes of an alarm, the likeliest first."),
})

const ToDecision = z
  .object({
    visitors: z.int(),
    days: z.number().nullable().describe("At the pace so far."),
    millicents: z.number().nullable().describe("By the experiment's cost per visitor; null where it declares none."),
  })
  .describe("About how much more a decision takes if the difference seen is the true one.")

export const StoppingReport = z
  .object({
    visitors: z.int().describe("Visitors that the experiment had."),
    days: z.number(),
    fixed_horizon_visitors: z
      .int()
      .nullable()
      .describe("Visitors that a test with one look at its end takes; null where none can be planned."),
    fixed_horizon_days: z.number().nullable().describe("At the pace that the experiment had."),
    visitors_saved: z.int().nullable().describe("Negative: visitors that were spent beyond it."),
    days_saved: z.number().nullable(),
    millicents_saved: z.number().nullable().describe("Null where the experiment declares no cost per visitor."),
    baseline_rate: z.number().nullable().describe("Of the control, as it was seen."),
    relative_effect: z.number().describe("Smallest lift that the plan is to find."),
    alpha: z.number(),
    power: z.number(),
  })
  .describe("What stopping now saved or cost in comparison with a test of a fixed size.")

export const LiveEvidence = z
  .object({
    experiment_slug: z.string(),
    status: z.enum(statuses),
    as_of: Timestamp.nullable().describe("Every event committed before this time is included; null: none is yet."),
    analytics_enabled: z.boolean().describe("False: the page's events are not collected, and no visitors do not mean no traffic."),
    alpha: z.number().describe("Chance that any verdict on the goal is wrong, over the whole experiment."),
    window: z
      .object({
        kind: z.enum(["full_weeks", "all"]),
        from: Timestamp.nullable(),
        until: Timestamp.nullable().describe("Visitors who came before count."),
        full_weeks: z.int().describe("Weeks that are over; 0: verdicts wait, and what is shown is of all days."),
      })
      .describe("Visitors that counts, intervals and verdicts are of. The sample ratio and the series are of all days."),
    visitors: z.int(),
    conversions: z.int(),
    unlinked_conversions: z.int().describe("Rows of a dataset that name no session: each counts as a visitor of its own."),
    sample_ratio: SampleRatio,
    variants: z.array(
      DescribedSeen.extend({
        page_variant: z.string(),
        weight: Bound.describe("On the page now; null where the page has the variant no more."),
        to_control: Difference.nullable().describe("Null of the first variant, which is the control."),
      }),
    ),
    guardrails: z.array(
      z.object({
        metric: z.string(),
        max_increase_percent: z.number(),
        variants: z.array(Guarded),
      }),
    ),
    series: z
      .array(
        z.object({
          at: Timestamp.describe("End of the day; of the last one, `as_of`."),
          day: z.int().describe("Days since the start, the first being 1."),
          p_value: z.number().describe("Of the sample ratio, on this day."),
          variants: z.array(
            DescribedSeen.extend({
              difference: Bound,
              difference_low: Bound.describe("Null of the control."),
              difference_high: Bound,
            }),
          ),
        }),
      )
      .describe("All visitors up to each day."),
    verdict: z.object({
      outcome: z.enum(["not_started", "cannot_tell", "better", "control", "sample_ratio_mismatch"]),
      leader_key: z.string().describe("Of `better` and `control`: the variant; empty otherwise."),
      message: z.string(),
    }),
    to_decision: ToDecision.nullable().describe("Null where a verdict is there, and where nothing seen so far would lead to one."),
    allocation: z
      .array(z.object({ from: Timestamp, shares: z.record(z.string(), z.number()) }))
      .describe("Times of constant weights, with each variant's share of the experiment's visitors."),
  })
  .meta({ id: "LiveEvidence" })

export type LiveEvidence = z.input<typeof LiveEvidence>
