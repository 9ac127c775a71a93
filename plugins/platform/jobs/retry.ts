// Trying a dead job again. The job of deferred steps is only half of the story: what failed stands in the journal entry
// too, so the engine, which knows both, does that.
import { z } from "zod"
import { AppError, type JobQueue, type UnitOfWork } from "#core"
import type { JobDocument, PipelineEngine, PipelineSource } from "#core/engine"

const deferredType = "pipeline.deferred"
const DeferredPayload = z.object({ pipeline_id: z.uuid(), execution_id: z.uuid() })

/** undefined where the job is not deferred work of a pipeline. */
export function executionOf(job: JobDocument): z.infer<typeof DeferredPayload> | undefined {
  if (job.type !== deferredType) return undefined
  return DeferredPayload.safeParse(job.payload).data
}

interface Services {
  readonly queue: JobQueue
  readonly engine: PipelineEngine
  readonly source: PipelineSource
}

/** Stages it; returns the ids of the steps that are retried, none where the job is not a pipeline's. */
export async function stageRetry(services: Services, organization: string, job: JobDocument, work: UnitOfWork): Promise<readonly string[]> {
  const execution = executionOf(job)
  if (execution === undefined) {
    services.queue.revive(work, job.id)
    return []
  }
  const pipeline = await services.source.byId(organization, execution.pipeline_id)
  if (!pipeline) {
    const message = `The pipeline of job ${job.id} was deleted; its deferred steps cannot be retried.`
    throw new AppError("failed_precondition", message, { reason: "execution_gone" })
  }
  return services.engine.retry(pipeline, execution.execution_id, work)
}
