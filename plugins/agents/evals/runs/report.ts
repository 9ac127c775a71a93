// The report of a run: its verdict, and the result of each case. Stored with the run and shown unchanged.
import { z } from "zod"

export const runVerdicts = ["passed", "failed", "no_verdict"] as const
export type RunVerdict = (typeof runVerdicts)[number]

const caseStates = ["green", "red", "missing", "new", "not_judged"] as const
export type CaseState = (typeof caseStates)[number]

const Interval = z.object({ low: z.number(), high: z.number() }).describe("Of the share that passes, 95 % (Wilson).")

export const CaseReport = z
  .object({
    case: z.string().describe("Its slug."),
    state: z
      .enum(caseStates)
      .describe(
        "`green`: as good as in the last passing run. `red`: its repeats say that it got worse, or a critical one failed. `missing`: the last passing run has it; counts as red. `new`: that run has no answers to this input. `not_judged`: no answer was judged, here or there.",
      ),
    critical: z.boolean(),
    flaky: z.boolean().describe("Passed and failed among its own repeats."),
    passed: z.int(),
    failed: z.int(),
    could_not_judge: z.int(),
    interval: Interval,
    baseline: z.object({ passed: z.int(), failed: z.int(), interval: Interval }).nullable().describe("The last passing run, judged alike."),
    reason: z.string(),
  })
  .meta({ id: "EvalCaseReport" })
export type CaseReport = z.infer<typeof CaseReport>

export interface RunReport {
  readonly verdict: RunVerdict
  readonly reason: string
  /** Percent: the mean share of passed answers over all judged cases. Null without judged cases. */
  readonly score: number | null
  readonly unjudged_percent: number
  readonly cases: readonly CaseReport[]
  readonly red: readonly string[]
  readonly flaky: readonly string[]
}

/** A missing case counts as red: its result is unknown. */
export function isRed({ state }: Pick<CaseReport, "state">): boolean {
  return state === "red" || state === "missing"
}
