// The job that carries a replay plan on.
import { defineJob } from "#core"
import { replayRef } from "./collections.ts"
import { ReplayPlansToken } from "./plans.ts"

export const replayPlan = defineJob(replayRef, {
  summary: "Rehearses or replays the events of a plan.",
  slots: 2,
  inject: { plans: ReplayPlansToken },
  run: ({ payload: { plan }, deps, organization, signal, log }) => deps.plans.run(organization ?? "", plan, signal, log),
})
