// Report for callers: all evidence on an experiment, read from its ledger.
import { z } from "zod"
import { Timestamp, Uuid } from "#core"
import { ExperimentResource } from "../experiment.ts"
import { Seen } from "../live/resource.ts"

const Interval = z.object({ low: z.number(), high: z.number() }).nullable()
const TextsFrom = z
  .enum(["browser", "html", "mixed", "unknown"])
  .describe("What judges read: pages as the browser rendered them, or their HTML, scripts not run.")

const common = {
  run_id: z.string(),
  at: Timestamp.describe("When it ended."),
  judge_slug: z.string(),
  corrected: z.int().describe("Observations with a value that a person corrected."),
  earlier_runs: z.int().describe("On the ledger, and not shown."),
  text_from: TextsFrom,
}

const Panel = z.object({
  ...common,
  personas: z.array(z.string()),
  cells: z.int(),
  ranking: z.array(z.object({ variant_key: z.string(), rank: z.int(), score: z.number().nullable(), interval: Interval })),
  kill_list: z.array(z.object({ variant_key: z.string(), reason: z.string() })),
  persona_scores: z.array(
    z.object({ persona_slug: z.string(), variant_key: z.string(), score: z.number().nullable(), interval: Interval, draws: z.int() }),
  ),
  failed_cells: z.array(z.object({ persona_slug: z.string(), variant_key: z.string(), draw: z.int(), reason: z.string() })),
})

const Tournament = z.object({
  ...common,
  criteria: z.string(),
  outcome: z.enum(["leader", "equal", "undecided"]),
  leader_key: z.string(),
  rounds: z.int().describe("Pairs that were judged in both seats."),
  skipped_pairs: z.int(),
  comparisons_to_decision: z.int(),
  cost_millicents: z.number(),
  position_effect: z.object({ share_of_first: z.number(), se: z.number() }).nullable(),
  flip_rate: z.number().nullable(),
  note: z.string(),
  ranking: z.array(
    z.object({
      variant_key: z.string(),
      rank: z.int(),
      strength: z.number(),
      low: z.number(),
      high: z.number(),
      score: z.number(),
      comparisons: z.int(),
      represents: z.array(z.string()),
    }),
  ),
  merges: z.array(z.object({ merged_key: z.string(), representative_key: z.string(), method: z.string(), similarity: z.number() })),
})

export const LiveSection = z.object({
  source: z.enum(["visitors", "ledger"]).describe("Counted now, or as the ledger has it from when the experiment ended."),
  as_of: Timestamp.nullable(),
  outcome: z.string(),
  leader_key: z.string(),
  message: z.string(),
  sample_ratio: z.object({ verdict: z.string(), p_value: z.number() }).nullable(),
  variants: z.array(Seen),
  guardrails: z.array(
    z.object({
      metric: z.string(),
      variant_key: z.string(),
      value: z.number().nullable(),
      low: z.number(),
      high: z.number().nullable(),
      verdict: z.string(),
    }),
  ),
  series: z.array(z.object({ at: Timestamp, variants: z.array(Seen) })).describe("All visitors up to each time."),
})
export type LiveSection = z.output<typeof LiveSection>

export const Report = z
  .object({
    experiment: ExperimentResource.answer,
    as_of: Timestamp.nullable().describe("Time of the newest observation; null without any."),
    summary: z
      .array(
        z.object({
          variant_key: z.string(),
          panel_score: z.number().nullable().describe("1 to 5."),
          panel_rank: z.int().nullable(),
          tournament_strength: z.number().nullable(),
          tournament_rank: z.int().nullable(),
          feedback: z.int().describe("Remarks of people."),
          conversion_rate: z.number().nullable(),
        }),
      )
      .describe("What each kind of evidence says of each variant, in the experiment's order."),
    panel: Panel.nullable(),
    tournament: Tournament.nullable(),
    feedback: z.array(
      z.object({
        observation_id: Uuid,
        variant_key: z.string(),
        judge_slug: z.string(),
        feedback: z.string(),
        image_bucket_key: z.string(),
        at: Timestamp,
      }),
    ),
    live: LiveSection.nullable().describe("Null before anything was counted."),
  })
  .meta({ id: "ExperimentReport" })
export type Report = z.output<typeof Report>
