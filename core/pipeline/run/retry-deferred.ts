// Retries permanently failed deferred steps on request, because the cause may be repaired.
import type { JobQueue } from "../../contract/job.ts"
import type { Store } from "../../contract/store.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { AppError } from "../../kernel/errors.ts"
import { EntryCollection } from "../journal/collections.ts"
import { holdsPayload } from "../journal/kept.ts"
import type { StoredPipeline } from "../source.ts"
import { stageAgain } from "./deferred.ts"
import { type DeferredServices, deferredJobId } from "./deferred-payload.ts"
import { deferredCauses } from "./deferred-run.ts"

interface Services {
  readonly store: Store
  readonly queue: JobQueue
  readonly at: DeferredServices["pipelineAt"]
  readonly entryChanged: DeferredServices["entryChanged"]
}

/** Stages the retry and returns the ids of the steps. The steps run at the event's pipeline revision. */
export async function retryDeferred(services: Services, stored: StoredPipeline, executionId: string, work: UnitOfWork): Promise<string[]> {
  const organization = stored.organization.id
  const entry = await services.store.open(EntryCollection, organization).get(executionId)
  if (!entry || entry.pipeline_id !== stored.id)
    throw new AppError("not_found", `The pipeline "${stored.slug}" has no execution ${executionId}.`, { reason: "execution_not_found" })
  if (!holdsPayload(entry))
    throw new AppError("failed_precondition", "The event's payload has expired, and its deferred steps with it.", {
      reason: "payload_expired",
    })
  const pipeline = await services.at(organization, stored.id, entry.revision)
  const mendable = entry.status === "failed" && deferredCauses.has(entry.cause)
  const waits = Object.entries(entry.steps).some(
    ([id, { state }]) => state === "failed" && pipeline?.graph.byId.get(id)?.deferred !== false,
  )
  if (!pipeline || !mendable || !(waits || entry.cause === "deferred_failed")) {
    throw new AppError(
      "failed_precondition",
      "Only dead deferred steps can be retried, and this execution has none. To run the whole event again, replay it.",
      { reason: "nothing_to_retry" },
    )
  }
  work.afterCommit(() => services.entryChanged({ ...entry, status: "accepted", cause: "", error: null }))
  services.queue.revive(work, deferredJobId(executionId))
  return stageAgain(work, organization, pipeline, entry)
}
