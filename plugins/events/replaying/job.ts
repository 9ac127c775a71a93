// The job that carries a replay plan on.
import { defineJob } from "#core"
import { replayRef } from "./job-ref.ts"
import { ReplayPlansToken } from "./plans.ts"

export const replayPlan = defineJob({
  ...replayRef,
  summary: "Rehearses or replays the events of a plan.",
  slots: 2,
  timeoutMs: 3_600_000,
  inject: { plans: ReplayPlansToken },
  run: ({ payload: { plan }, deps, organization, signal, log }) => deps.plans.run(organization ?? "", plan, signal, log),
})
