// The jobs of heartbeats: the beat, which is due at the next run, and the run itself.
import { defineJob } from "#core"
import { beatRef, runRef } from "./collections.ts"
import { Heartbeats } from "./heartbeats.ts"
import { RunsToken } from "./runs/runs.ts"

export const beat = defineJob(beatRef, {
  summary: "Begin a run of a heartbeat, and set its next.",
  inject: { heartbeats: Heartbeats },
  run: ({ payload, deps, organization = "", work, jobId }) => deps.heartbeats.beat(work, organization, payload.heartbeat_id, jobId),
})

export const runHeartbeat = defineJob(runRef, {
  summary: "Carry out a run of a heartbeat.",
  inject: { runs: RunsToken },
  run: ({ payload, deps, organization = "", signal, log }) => deps.runs.carryOut(organization, payload.run_id, { signal, log }),
  exhausted: ({ payload, deps, organization = "" }) => deps.runs.giveUp(organization, payload.run_id),
})
