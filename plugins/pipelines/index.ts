// Event pipelines: the resource around the engine. Keeps documents and secrets, hands them to the engine, and shows what
// became of events.
import { CacheInvalidation, Clock, Settings as CoreSettings, definePlugin, injected, Log, Store, UnitsOfWork } from "#core"
import { Listening, PipelineSource } from "#core/engine"
import { Organizations } from "../organizations/index.ts"
import { PageFormTargets } from "../pages/index.ts"
import { PlanNotes } from "./apply/plan.ts"
import { FilesAtBoot } from "./boot.ts"
import { Endpoints, Pipelines, Revisions } from "./collections.ts"
import { pipelineCommands } from "./commands/commands.ts"
import { executionsChannel } from "./executions-channel.ts"
import { applyPipelines, planPipelines } from "./operations/applying.ts"
import { listActionTypes, listAuthModes } from "./operations/declarations.ts"
import { getExecution, listExecutions, replayExecution, retryExecution } from "./operations/executions.ts"
import { getGraph, getSchema } from "./operations/graph.ts"
import { createPipeline, getPipeline, listPipelines, rotateSecret, updatePipeline } from "./operations/manage.ts"
import { getPayload } from "./operations/payload.ts"
import { endSecret, listSecrets } from "./operations/secrets.ts"
import { sendEvent, testPipeline, validatePipeline } from "./operations/trying.ts"
import { pageForms } from "./page-forms.ts"
import { dependencies, EventPipelines, EventPipelinesService } from "./pipelines.ts"
import { reasons } from "./reasons.ts"
import { SecretUseSources } from "./secret-evidence.ts"
import { ClientAddresses, Settings } from "./settings.ts"
import { PipelineSlugs, PipelineSlugsToken } from "./slugs.ts"
import { pipelineSource } from "./source.ts"

export { type PlanNote, PlanNotes } from "./apply/plan.ts"
export type { PipelineRecord } from "./collections.ts"
export { newestEntries, newestFirst } from "./newest-entries.ts"
export { Execution, ExecutionDetail, executionDetail, executionSummary } from "./operations/executions.ts"
export { type EventPipelines, EventPipelinesService } from "./pipelines.ts"
export { seesPayloads } from "./rules.ts"
export { type SecretUseSource, SecretUseSources } from "./secret-evidence.ts"
export { ClientAddresses, type ShownAddresses } from "./settings.ts"
export { PipelineSlugsToken } from "./slugs.ts"
export { shownConfig } from "./wire.ts"

export default definePlugin({
  id: "event-pipelines",
  reasons,
  needs: ["organizations", "datasets", "integrations", "pages"],
  config: Settings,
  commands: pipelineCommands,
  extensionPoints: [PlanNotes, SecretUseSources],
  extend: [[PageFormTargets, injected({ pipelines: EventPipelinesService, invalidation: CacheInvalidation }, pageForms)]],
  register(registrar, settings) {
    registrar.collections(Pipelines, Endpoints, Revisions)
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
    registrar.provide(ClientAddresses, { create: () => settings.client_addresses })
    registrar.provide(PipelineSlugsToken, {
      inject: { pipelines: EventPipelinesService, invalidation: CacheInvalidation },
      create: (deps) => new PipelineSlugs(deps),
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
    registrar.channels(executionsChannel)
    registrar.operations(createPipeline, listPipelines, validatePipeline, getPipeline, updatePipeline, rotateSecret)
    registrar.operations(planPipelines, applyPipelines, getPayload, listSecrets, endSecret)
    registrar.operations(getGraph, getSchema)
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
