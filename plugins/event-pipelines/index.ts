// Event pipelines: the resource around the engine. Keeps documents and secrets, hands them to the engine, and shows what
// became of events.
import { z } from "zod"
import { CacheInvalidation, Clock, definePlugin, Log, Settings, Store, UnitsOfWork } from "#core"
import { Listening, PipelineSource } from "#core/engine"
import { Organizations } from "../organizations/index.ts"
import { PageParts } from "../pages/index.ts"
import { FilesAtBoot } from "./boot.ts"
import { Endpoints, Pipelines, Revisions } from "./collections.ts"
import { pipelineCommands } from "./commands/commands.ts"
import { executionsChannel } from "./executions-channel.ts"
import { applyPipelines, planPipelines } from "./operations/applying.ts"
import { listActionTypes, listAuthModes } from "./operations/declarations.ts"
import { getExecution, listExecutions, replayExecution, retryExecution } from "./operations/executions.ts"
import { createPipeline, getPipeline, listPipelines, rotateSecret, updatePipeline } from "./operations/manage.ts"
import { getPayload } from "./operations/payload.ts"
import { sendEvent, testPipeline, validatePipeline } from "./operations/trying.ts"
import { connectPageForms } from "./page-forms.ts"
import { dependencies, EventPipelines, EventPipelinesService } from "./pipelines.ts"
import { reasons } from "./reasons.ts"
import { pipelineSource } from "./source.ts"

export { type EventPipelines, EventPipelinesService } from "./pipelines.ts"

export default definePlugin({
  id: "event-pipelines",
  reasons,
  needs: ["organizations", "datasets", "integrations", "pages"],
  config: z.strictObject({}),
  commands: pipelineCommands,
  register(registrar) {
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
    registrar.run("pipeline files", {
      inject: {
        settings: Settings,
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
    registrar.run("page forms", {
      inject: { parts: PageParts, pipelines: EventPipelinesService, invalidation: CacheInvalidation },
      create: connectPageForms,
    })
    registrar.rehearsal({ name: "pipeline", run: ({ call }, document) => call(createPipeline, { ...document, state: "active" } as never) })
    registrar.channels(executionsChannel)
    registrar.operations(createPipeline, listPipelines, validatePipeline, getPipeline, updatePipeline, rotateSecret)
    registrar.operations(planPipelines, applyPipelines, getPayload)
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
