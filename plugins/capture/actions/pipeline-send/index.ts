// The action type pipeline.send.
import { z } from "zod"
import { AppError, defineAction, definePlugin, type Json, Slug, template, templateJson } from "#core"
import { PipelineEngine, PipelineSource } from "#core/engine"
import { reasons } from "./reasons.ts"

export default definePlugin({
  id: "action-pipeline-send",
  reasons,
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(pipelineSend),
})

const deepest = 5

/**
 * Sends an event to another pipeline of the organization. The event has its own journal entry. The idempotency key makes a retry
 * the same event.
 */
export const pipelineSend = defineAction({
  type: "pipeline.send",
  summary: "Send an event to another pipeline.",
  description: `The target is a pipeline of source_kind internal. Pipelines can be chained, at most ${deepest} deep.`,
  timing: "deferred",
  idempotency: "exactly_once",
  config: z.strictObject({
    pipeline: template(Slug).describe("Slug of the target pipeline."),
    payload: templateJson().optional().describe("Payload; the event when absent."),
  }),
  result: z.object({ execution_id: z.string(), status: z.string() }),
  examples: [
    {
      title: "Forward a qualified lead",
      yaml: `type: pipeline.send
when: event.budget >= 1000
pipeline: qualified-leads
payload: { email: "{{ event.email }}", budget: "{{ event.budget }}" }`,
    },
  ],
  inject: { engine: PipelineEngine, source: PipelineSource },
  async run({ config, context, deps }) {
    if (context.depth >= deepest)
      throw refused(`pipelines can be chained at most ${deepest} deep, which this event has reached`, "too_deep")
    const target = await deps.source.bySlug(context.organization.id, config.pipeline)
    if (!target) throw refused(`the pipeline "${config.pipeline}" does not exist`, "pipeline_not_found")
    const { source_kind, state } = target.document
    if (source_kind !== "internal")
      throw refused(
        `"${config.pipeline}" takes its events from a ${source_kind}; only internal pipelines accept events of other pipelines`,
        "not_internal",
      )
    if (state !== "active") throw refused(`"${config.pipeline}" is ${state}; activate it`, "not_active")
    const { execution_id, status } = await deps.engine.submit(target, {
      payload: config.payload === undefined ? context.event : config.payload,
      isTest: context.envelope.is_test,
      depth: context.depth + 1,
      dataSince: context.dataSince ?? context.receivedAt,
      idempotencyKey: context.idempotencyKey,
    })
    // A retry would find the same execution, so the error is not retryable.
    if (status !== "accepted")
      throw refused(
        `"${config.pipeline}" ${status} it, see execution ${execution_id}`,
        status === "failed" ? "target_failed" : "target_rejected",
      )
    return { execution_id, status }
  },
  complete: (config, event) => ({ ...config, payload: config.payload === undefined ? event : config.payload }),
  async target({ pipeline }, { organization, deps }) {
    const target = await deps.source.bySlug(organization, pipeline)
    return { pipeline, pipeline_id: target?.id ?? null, revision: target?.revision ?? null }
  },
  preview: (config): Json => ({ pipeline: config.pipeline, ...(config.payload === undefined ? {} : { payload: config.payload }) }),
})

type Refusal = "too_deep" | "pipeline_not_found" | "not_internal" | "not_active" | "target_rejected" | "target_failed"

function refused(problem: string, reason: Refusal): AppError {
  return new AppError("failed_precondition", `The event was not sent: ${problem}.`, { reason, retryable: false })
}
