// Page events: first-party analytics of published pages. Each page has a pipeline for them, and browsers send events to it.
// This plugin stores the rows and sessions, and derives further events.
import { CacheInvalidation, Clock, definePlugin, Ids, injected, JobQueue, Live, RateLimiter, Settings, Store, token, Vault } from "#core"
import { AcceptedEvents, Intakes } from "#core/engine"
import { EventPipelines } from "../../capture/pipelines/index.ts"
import { Datasets, type ReservedDataset } from "../../data/datasets/index.ts"
import { type EventTarget, PageEventTargets, Pages, type PublishHook, PublishHooks, Serving, Visitors } from "../pages/index.ts"
import { AuthoredNames } from "./authored-names.ts"
import { generatedBeacon } from "./beacon/build.ts"
import { serveBeacon, serveVitals } from "./beacon/routes.ts"
import { Collector } from "./collect.ts"
import { BatchesCollection, EndedSessionsCollection, LeadsCollection, SessionsCollection } from "./collections.ts"
import { pageEventsDataset, pageEventsScope } from "./columns.ts"
import { createEventTargets, EventTargets } from "./event-targets.ts"
import { connectLeads } from "./leads.ts"
import { EventLimits, PageEventSettings } from "./limits.ts"
import { onPublish } from "./pipeline.ts"
import { reasons } from "./reasons.ts"
import { replayer } from "./replay.ts"
import { createSessions, endSession, Sessions } from "./sessions.ts"

const Dataset = token<ReservedDataset>("page-events dataset")
const Names = token<AuthoredNames>("names in pages")

export default definePlugin({
  id: "page-events",
  reasons,
  needs: ["datasets", "event-pipelines", "pages"],
  config: PageEventSettings,
  generates: generatedBeacon,
  extend: [
    [
      PublishHooks,
      injected(
        { pipelines: EventPipelines, dataset: Dataset },
        (deps): PublishHook =>
          (work, organization, page) =>
            onPublish(deps, work, organization, page),
      ),
    ],
    [
      PageEventTargets,
      injected(
        { targets: EventTargets },
        ({ targets }): EventTarget =>
          (organization, page) =>
            targets.endpoint(organization.id, page.id),
      ),
    ],
  ],
  register(reg, config) {
    reg.collections(SessionsCollection, EndedSessionsCollection, LeadsCollection, BatchesCollection)
    reg.jobs(endSession)
    reg.routes(serveBeacon, serveVitals)
    reg.provide(Dataset, {
      inject: { datasets: Datasets },
      create: ({ datasets }) => datasets.reserve(pageEventsDataset, "page events", { scope: pageEventsScope }),
    })
    reg.provide(Names, { create: () => new AuthoredNames() })
    reg.provide(EventTargets, { inject: { pipelines: EventPipelines, invalidation: CacheInvalidation }, create: createEventTargets })
    reg.provide(Sessions, {
      inject: { store: Store, clock: Clock, ids: Ids, queue: JobQueue, live: Live, dataset: Dataset, targets: EventTargets },
      create: createSessions,
    })
    reg.run("leads", {
      inject: {
        accepted: AcceptedEvents,
        targets: EventTargets,
        pages: Pages,
        names: Names,
        sessions: Sessions,
        dataset: Dataset,
        live: Live,
      },
      create: connectLeads,
    })
    reg.run("collector", {
      inject: {
        intakes: Intakes,
        rateLimiter: RateLimiter,
        settings: Settings,
        store: Store,
        clock: Clock,
        ids: Ids,
        vault: Vault,
        live: Live,
        pages: Pages,
        names: Names,
        serving: Serving,
        visitors: Visitors,
        sessions: Sessions,
        datasets: Datasets,
        dataset: Dataset,
      },
      create({ intakes, rateLimiter, settings, serving, ...deps }) {
        deps.visitors.keepSessions(deps.sessions)
        const payloadsDays = settings.retention.payloads_days
        const limits = new EventLimits(rateLimiter, config)
        const origin = () => serving.origin
        intakes.use("page_events", new Collector({ ...deps, limits, payloadsDays, origin, replay: replayer(deps) }))
      },
    })
  },
})
