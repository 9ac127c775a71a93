// Heartbeats: recurring work of an organization, within its own hours, by a script or by a model.
import { Clock, ClockCorrections, defineJob, definePlugin, Ids, injected, Live, Scripts, Store, UnitsOfWork } from "#core"
import { OperationTools, PipelineEngine, PipelineSource } from "#core/engine"
import { Datasets } from "../../data/datasets/index.ts"
import { ApiKeys, Departures, Organizations, Principals } from "../../platform/organizations/index.ts"
import { Models } from "../models/index.ts"
import { beatRef, RunCollection, runRef } from "./collections.ts"
import { HeartbeatLimit, HeartbeatResource, HeartbeatSettings } from "./heartbeat.ts"
import { correctHeartbeats, Heartbeats, pauseHeartbeatsOf } from "./heartbeats.ts"
import { heartbeatPrincipals } from "./makers.ts"
import { getHeartbeatRun, listHeartbeatRuns, pauseHeartbeat, resumeHeartbeat, runHeartbeatNow } from "./operations/running.ts"
import { reasons } from "./reasons.ts"
import { heartbeatsChannel, Runs, RunsToken } from "./runs/runs.ts"

export default definePlugin({
  id: "heartbeats",
  reasons,
  needs: ["datasets", "event-pipelines", "models", "organizations"],
  config: HeartbeatSettings,
  extend: [
    [
      Principals,
      injected({ heartbeats: Heartbeats, tools: OperationTools }, ({ heartbeats, tools }) => heartbeatPrincipals(heartbeats, tools)),
    ],
    [Departures, injected({ store: Store, heartbeats: Heartbeats }, pauseHeartbeatsOf)],
  ],
  register(registrar, settings) {
    registrar.resources(HeartbeatResource)
    registrar.collections(RunCollection)
    registrar.channels(heartbeatsChannel)
    registrar.operations(pauseHeartbeat, resumeHeartbeat, runHeartbeatNow, listHeartbeatRuns, getHeartbeatRun)
    registrar.jobs(beat, { ...runHeartbeat, slots: settings.slots })
    registrar.provide(HeartbeatLimit, { create: () => settings.max_per_organization })
    registrar.provide(Heartbeats, { create: (deps) => new Heartbeats({ ...deps, settings }) })
    registrar.run("clock corrections of heartbeats", {
      inject: {
        corrections: ClockCorrections,
        store: Store,
        works: UnitsOfWork,
        organizations: Organizations,
        heartbeats: Heartbeats,
      },
      create: ({ corrections, ...deps }) => corrections.use("heartbeats", (correction) => correctHeartbeats(deps, correction)),
    })
    registrar.provide(RunsToken, {
      inject: {
        store: Store,
        clock: Clock,
        ids: Ids,
        works: UnitsOfWork,
        live: Live,
        scripts: Scripts,
        datasets: Datasets,
        engine: PipelineEngine,
        source: PipelineSource,
        models: Models,
        tools: OperationTools,
        organizations: Organizations,
        heartbeats: Heartbeats,
        keys: ApiKeys,
      },
      create: (deps) => new Runs({ ...deps, maxCallsPerTurn: settings.max_calls_per_turn }),
    })
  },
})

/** The jobs of heartbeats: the beat at the time of the next run, and the run itself. */
const beat = defineJob(beatRef, {
  summary: "Begin a run of a heartbeat, and set its next.",
  inject: { heartbeats: Heartbeats },
  run: ({ payload, deps, organization = "", work, jobId }) => deps.heartbeats.beat(work, organization, payload.heartbeat_id, jobId),
})

const runHeartbeat = defineJob(runRef, {
  summary: "Carry out a run of a heartbeat.",
  inject: { runs: RunsToken },
  run: ({ payload, deps, organization = "", signal, log }) => deps.runs.carryOut(organization, payload.run_id, { signal, log }),
  exhausted: ({ payload, deps, organization = "" }) => deps.runs.giveUp(organization, payload.run_id),
})
