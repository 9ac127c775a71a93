// Events of all pipelines: lists, full-text search and replays.

import { z } from "zod"
import { Clock, definePlugin, Ids, JobQueue, Leases, Live, Log, Settings, Store, UnitsOfWork } from "#core"
import { PipelineEngine, PipelineSource } from "#core/engine"
import { Organizations } from "../../platform/organizations/index.ts"
import { EventIndexCollection, EventIndexPartCollection } from "./collections.ts"
import { BuilderToken, IndexBuilder } from "./finding/builder.ts"
import { Finder } from "./finding/finder.ts"
import { FinderToken, findEvents, listEvents } from "./operations/list.ts"
import { getCurl, getEvent, getReport, getTest, listReplays } from "./operations/one.ts"
import { createPlan, getPlan, listPlanEvents, listPlans, pausePlan, resumePlan, startPlan, stopPlan } from "./operations/replay-plans.ts"
import { reasons } from "./reasons.ts"
import { PlannedEventCollection, ReplayPlanCollection } from "./replaying/collections.ts"
import { ReplayPlans, ReplayPlansToken, replayPlan, replayPlansChannel } from "./replaying/plans.ts"

const EventsSettings = z.strictObject({
  find_index: z
    .boolean()
    .default(true)
    .describe("Index the texts of events, for searches by any piece. Without it, searches read the newest events only."),
})

export default definePlugin({
  id: "events",
  reasons,
  needs: ["organizations", "event-pipelines"],
  config: EventsSettings,
  register(registrar, settings) {
    registrar.collections(EventIndexCollection, EventIndexPartCollection)
    registrar.operations(listEvents, findEvents, getEvent, listReplays, getCurl, getTest, getReport)
    registrar.collections(ReplayPlanCollection, PlannedEventCollection)
    registrar.operations(createPlan, listPlans, getPlan, listPlanEvents, startPlan, pausePlan, resumePlan, stopPlan)
    registrar.channels(replayPlansChannel)
    registrar.jobs(replayPlan)
    registrar.provide(ReplayPlansToken, {
      inject: {
        store: Store,
        works: UnitsOfWork,
        clock: Clock,
        ids: Ids,
        queue: JobQueue,
        live: Live,
        engine: PipelineEngine,
        source: PipelineSource,
        settings: Settings,
      },
      create: ({ settings: { retention }, ...deps }) =>
        new ReplayPlans({ ...deps, payloadsDays: retention.payloads_days, entriesDays: retention.entries_days }),
    })
    registrar.provide(FinderToken, {
      inject: { store: Store, clock: Clock, settings: Settings },
      create: ({ settings: { retention }, ...deps }) => new Finder({ ...deps, payloadsDays: retention.payloads_days }),
    })
    registrar.provide(BuilderToken, {
      inject: {
        store: Store,
        works: UnitsOfWork,
        clock: Clock,
        ids: Ids,
        leases: Leases,
        log: Log,
        organizations: Organizations,
        settings: Settings,
      },
      create: ({ organizations, settings: { retention }, ...deps }) =>
        new IndexBuilder({
          ...deps,
          organizations: () => organizations.all(),
          payloadsDays: retention.payloads_days,
        }),
    })
    if (!settings.find_index) return
    registrar.run("event index", {
      inject: { builder: BuilderToken },
      create: ({ builder }) => builder,
      start: (builder) => builder.start(),
      stop: (builder) => builder.stop(),
    })
  },
})
