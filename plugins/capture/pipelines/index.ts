// Event pipelines as a resource. Stores documents and secrets, supplies them to the engine, and shows executions.

import { z } from "zod"
import { CacheInvalidation, definePlugin, injected, token } from "#core"
import { PipelineSource } from "#core/engine"
import { PageFormTargets } from "../../pages/pages/index.ts"
import { Endpoints, Pipelines, Revisions } from "./collections.ts"
import { executionsChannel } from "./executions-channel.ts"
import { listActionTypes, listAuthModes } from "./operations/declarations.ts"
import { getExecution, listExecutions, replayExecution, retryExecution } from "./operations/executions.ts"
import { getGraph, getSchema } from "./operations/graph.ts"
import { createPipeline, getPipeline, listPipelines, rotateSecret, updatePipeline } from "./operations/manage.ts"
import { getPayload } from "./operations/payload.ts"
import { endSecret, listSecrets } from "./operations/secrets.ts"
import { sendEvent, testPipeline, validatePipeline } from "./operations/trying.ts"
import { pageForms } from "./page-forms.ts"
import { EventPipelines } from "./pipelines.ts"
import { reasons } from "./reasons.ts"
import { SecretUseSources } from "./secret-evidence.ts"
import { PipelineSlugs } from "./slugs.ts"
import { pipelineSource, pipelineSourceNeeds } from "./source.ts"

export { type AppliedFile, type PipelineRecord, Pipelines, Revisions } from "./collections.ts"
export { newestEntries, newestFirst } from "./newest-entries.ts"
export { Execution, ExecutionDetail, executionDetail, executionSummary } from "./operations/executions.ts"
export { EventPipelines, type Organization, type Saved } from "./pipelines.ts"
export { internalAuth, refuseFixed, seesPayloads } from "./rules.ts"
export { type SecretUseSource, SecretUseSources } from "./secret-evidence.ts"
export type { SecretKeeper } from "./secrets.ts"
export { PipelineSlugs } from "./slugs.ts"
export { shownConfig } from "./wire.ts"

const Settings = z.strictObject({
  client_addresses: z
    .enum(["full", "network", "none"])
    .default("network")
    .describe("Evidence of the use of secrets: the whole client address, its network (/24, /64), or no address."),
})

export type ShownAddresses = z.output<typeof Settings>["client_addresses"]

/** Setting `client_addresses`, for the plugin that counts events. */
export const ClientAddresses = token<ShownAddresses>("ClientAddresses")

export default definePlugin({
  id: "event-pipelines",
  reasons,
  needs: ["organizations", "datasets", "integrations", "pages"],
  config: Settings,
  extensionPoints: [SecretUseSources],
  extend: [[PageFormTargets, injected({ pipelines: EventPipelines, invalidation: CacheInvalidation }, pageForms)]],
  register(registrar, settings) {
    registrar.collections(Pipelines, Endpoints, Revisions)
    registrar.provide(EventPipelines)
    registrar.provide(PipelineSource, {
      inject: pipelineSourceNeeds,
      create: (deps) => pipelineSource(deps),
    })
    registrar.provide(ClientAddresses, { create: () => settings.client_addresses })
    registrar.provide(PipelineSlugs)
    registrar.rehearsal({
      name: "pipeline",
      run: ({ call }, document) => call(createPipeline, { ...document, state: "active", force: true } as never),
    })
    registrar.channels(executionsChannel)
    registrar.operations(createPipeline, listPipelines, validatePipeline, getPipeline, updatePipeline, rotateSecret)
    registrar.operations(getPayload, listSecrets, endSecret)
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
