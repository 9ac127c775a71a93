// Event pipelines: the resource around the engine. Keeps documents and secrets, hands them to the engine, and shows what
// became of events.
import {
  CacheInvalidation,
  Clock,
  Settings as CoreSettings,
  definePlugin,
  injected,
  Live,
  Log,
  Store,
  token,
  UnitsOfWork,
  Vault,
} from "#core"
import { Listening, PipelineSource, SettledEvents } from "#core/engine"
import { Organizations } from "../organizations/index.ts"
import { PageFormTargets } from "../pages/index.ts"
import { EventMinutes } from "./activity/collection.ts"
import { ActivityCounter } from "./activity/counter.ts"
import { EventActivity, eventActivity } from "./activity/service.ts"
import { FilesAtBoot } from "./boot.ts"
import { Endpoints, Pipelines, Revisions } from "./collections.ts"
import { pipelineCommands } from "./commands/commands.ts"
import { schemaDriftChannel } from "./drift/channel.ts"
import { SchemaSketches } from "./drift/collection.ts"
import { SchemaDrift, schemaDrift } from "./drift/service.ts"
import { Sketcher } from "./drift/sketcher.ts"
import { executionsChannel } from "./executions-channel.ts"
import { getActivity } from "./operations/activity.ts"
import { applyPipelines, planPipelines } from "./operations/applying.ts"
import { listActionTypes, listAuthModes } from "./operations/declarations.ts"
import { getDrift, patchDrift } from "./operations/drift.ts"
import { getExecution, listExecutions, replayExecution, retryExecution } from "./operations/executions.ts"
import { getGraph, getSchema } from "./operations/graph.ts"
import { createPipeline, getPipeline, listPipelines, rotateSecret, updatePipeline } from "./operations/manage.ts"
import { getPayload } from "./operations/payload.ts"
import { endSecret, listSecrets } from "./operations/secrets.ts"
import { sendEvent, testPipeline, validatePipeline } from "./operations/trying.ts"
import { pageForms } from "./page-forms.ts"
import { dependencies, EventPipelines, EventPipelinesService } from "./pipelines.ts"
import { reasons } from "./reasons.ts"
import { SecretUses } from "./secret-use/collection.ts"
import { SecretUseCounter } from "./secret-use/counter.ts"
import { SecretEvidences, secretEvidences } from "./secret-use/service.ts"
import { Settings } from "./settings.ts"
import { PipelineSlugs, PipelineSlugsToken } from "./slugs.ts"
import { pipelineSource } from "./source.ts"

export { newestEntries, newestFirst } from "./newest-entries.ts"
export { Execution, ExecutionDetail, executionDetail, executionSummary } from "./operations/executions.ts"
export { type EventPipelines, EventPipelinesService } from "./pipelines.ts"
export { seesPayloads } from "./rules.ts"
export { PipelineSlugsToken } from "./slugs.ts"

const SketcherToken = token<Sketcher>("sketches of events")
const Activity = token<ActivityCounter>("counts of events")
const Counter = token<SecretUseCounter>("use of verification secrets")

export default definePlugin({
  id: "event-pipelines",
  reasons,
  needs: ["organizations", "datasets", "integrations", "pages"],
  config: Settings,
  commands: pipelineCommands,
  extend: [[PageFormTargets, injected({ pipelines: EventPipelinesService, invalidation: CacheInvalidation }, pageForms)]],
  register(registrar, settings) {
    registrar.collections(Pipelines, Endpoints, Revisions, SecretUses, SchemaSketches, EventMinutes)
    registrar.provide(EventPipelinesService, { inject: dependencies, create: (deps) => new EventPipelines(deps) })
    registrar.provide(PipelineSource, {
      inject: {
        store: Store,
        clock: Clock,
        works: UnitsOfWork,
        invalidation: CacheInvalidation,
        pipelines: EventPipelinesService,
        organizations: Organizations,
      },
      create: (deps) => pipelineSource(deps),
    })
    registrar.provide(Counter, {
      inject: { store: Store, works: UnitsOfWork, clock: Clock, log: Log },
      create: (deps) => new SecretUseCounter({ ...deps, addresses: settings.client_addresses }),
      stop: (counter) => counter.stop(),
    })
    registrar.run("use of verification secrets", {
      inject: { counter: Counter, settled: SettledEvents },
      create: ({ counter, settled }) => settled.use((event) => counter.observe(event)),
    })
    registrar.provide(SecretEvidences, { inject: { store: Store, clock: Clock, counter: Counter }, create: secretEvidences })
    registrar.provide(Activity, {
      inject: { store: Store, works: UnitsOfWork, clock: Clock, log: Log },
      create: (deps) => new ActivityCounter(deps),
      stop: (counter) => counter.stop(),
    })
    registrar.run("counts of events", {
      inject: { counter: Activity, settled: SettledEvents },
      create: ({ counter, settled }) => settled.use((event) => counter.observe(event)),
    })
    registrar.provide(PipelineSlugsToken, {
      inject: { pipelines: EventPipelinesService, invalidation: CacheInvalidation },
      create: (deps) => new PipelineSlugs(deps),
    })
    registrar.provide(EventActivity, { inject: { store: Store, clock: Clock, counter: Activity }, create: eventActivity })
    registrar.provide(SketcherToken, {
      inject: { store: Store, works: UnitsOfWork, clock: Clock, log: Log, live: Live, vault: Vault },
      create: (deps) => new Sketcher(deps),
      stop: (sketcher) => sketcher.stop(),
    })
    registrar.provide(SchemaDrift, { inject: { store: Store, vault: Vault, sketcher: SketcherToken }, create: schemaDrift })
    registrar.run("sketches of events", {
      inject: { sketcher: SketcherToken, settled: SettledEvents },
      create: ({ sketcher, settled }) => settled.use((event) => sketcher.take(event)),
    })
    registrar.run("pipeline files", {
      inject: {
        settings: CoreSettings,
        pipelines: EventPipelinesService,
        organizations: Organizations,
        works: UnitsOfWork,
        store: Store,
        log: Log,
        listening: Listening,
      },
      create: (deps) => new FilesAtBoot(deps),
      start: (files) => files.start(),
      stop: (files) => files.stop(),
    })
    registrar.rehearsal({
      name: "pipeline",
      run: ({ call }, document) => call(createPipeline, { ...document, state: "active", force: true } as never),
    })
    registrar.channels(executionsChannel, schemaDriftChannel)
    registrar.operations(createPipeline, listPipelines, validatePipeline, getPipeline, updatePipeline, rotateSecret)
    registrar.operations(planPipelines, applyPipelines, getPayload, listSecrets, endSecret)
    registrar.operations(getDrift, patchDrift, getGraph, getSchema, getActivity)
    registrar.operations(
      listExecutions,
      getExecution,
      replayExecution,
      retryExecution,
      testPipeline,
      sendEvent,
      listActionTypes,
      listAuthModes,
    )
  },
})
