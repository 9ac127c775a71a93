// Operator settings of evals.
import { Cron } from "croner"
import { z } from "zod"
import { token } from "#core"

export const EvalSettings = z.strictObject({
  nightly_cron: z
    .string()
    .min(1)
    .max(100)
    .refine(hasTimes, 'expected a cron expression with a time to come, such as "0 3 * * *"')
    .default("0 3 * * *")
    .describe("When suites with cron_enabled run: a cron expression, read in the organization's time zone."),
  default_repeats: z.int().min(1).max(20).default(3).describe("How often a run asks each case, where its caller does not say."),
  max_cells: z.int().min(1).max(20_000).default(2_000).describe("Cases x repeats of one run."),
  max_unjudged_percent: z
    .number()
    .min(0)
    .max(100)
    .default(20)
    .describe("Share of a run's answers that may stay unjudged; beyond it the run has no verdict."),
  run_slots: z.int().min(1).max(64).default(4).describe("Runs at once on this node."),
  answers_at_once: z.int().min(1).max(64).default(4).describe("Calls at once of one run."),
  keep_runs_days: z.int().min(1).max(3_650).default(365).describe("How long runs and their answers are kept."),
})

export type EvalSettings = z.output<typeof EvalSettings>

export const EvalConfig = token<EvalSettings>("eval settings")

function hasTimes(cron: string): boolean {
  try {
    return new Cron(cron, { paused: true }).nextRun() !== null
  } catch {
    return false
  }
}
