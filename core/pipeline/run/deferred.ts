// The deferred part of a graph: a durable job per execution. This file declares the job. deferred-run.ts runs the steps.
import { withReason } from "../../contract/gate.ts"
import { defineJob } from "../../contract/job.ts"
import { type Changes, Store } from "../../contract/store.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import { EntryCollection } from "../journal/collections.ts"
import type { JournalEntry } from "../journal/entry.ts"
import { DeferredPayload, DeferredServices, deferredJobId, openedPayload } from "./deferred-payload.ts"
import { DeferredRun, maxRestMs } from "./deferred-run.ts"
import type { Runnable } from "./execution.ts"

export const deferredJob = defineJob({
  type: "pipeline.deferred",
  summary: "Steps of a pipeline that run after the reply.",
  payload: DeferredPayload,
  retry: { max_attempts: 20, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 600_000 },
  timeoutMs: 900_000,
  // Steps use their own slots (step-slots.ts). An execution leaves its place during a long wait of its steps.
  slots: 256,
  limitsKeys: true,
  inject: { services: DeferredServices, store: Store },
  async run({ payload: given, deps, signal, log, work, remembered, keepsFor }) {
    const payload = openedPayload(given, deps.services.vault)
    const { organization, pipeline_id, revision, execution_id } = payload
    const pipeline = await deps.services.pipelineAt(organization, pipeline_id, revision)
    if (!pipeline) throw gone("The pipeline was deleted, or no longer compiles with the loaded plugins.")
    const written = remembered as JournalEntry | undefined
    const entry = written ?? (await deps.store.open(EntryCollection, organization).get(execution_id))
    if (!entry) throw gone(`The journal entry ${execution_id} was deleted.`)
    const { services, store } = deps
    await new DeferredRun({ payload, pipeline, entry, services, store, signal, log, work, mayRest: () => keepsFor(maxRestMs) }).run()
  },
  // The job's own retries cover faults of this service. Permanent faults are written to the entry.
  async exhausted({ payload, deps, work }, error) {
    const message = error instanceof Error ? error.message : String(error)
    const entry = await deps.store.open(EntryCollection, payload.organization).get(payload.execution_id)
    const failed = { ...withReason(asAppError(error)), message }
    await deps.services.keeper()?.abandon(work, payload.organization, deferredJobId(payload.execution_id), failed)
    if (!entry || entry.status === "failed") return
    const $set = { status: "failed" as const, cause: "deferred_failed", error: { code: "internal", message } }
    work.in(EntryCollection, payload.organization).update(payload.execution_id, { $set }, { optional: true })
    work.afterCommit(() => deps.services.entryChanged({ ...entry, ...$set }))
  },
})

function gone(message: string): AppError {
  return new AppError("failed_precondition", message, { reason: "execution_gone", retryable: false })
}

/** Stages a retry of the permanently failed steps and the skipped steps after them. Returns their ids. */
export function stageAgain(work: UnitOfWork, organization: string, pipeline: Runnable, entry: JournalEntry): string[] {
  const { deferred, handlers, byId } = pipeline.graph
  const again = new Set<string>()
  for (const step of [...deferred, ...handlers.values()]) {
    const state = entry.steps[step.id]?.state
    const failed = state === "failed" && step.onError === "fail"
    const behind = state === "skipped" && step.needs.some((need) => again.has(need) && byId.has(need))
    if (failed || behind || state === "pending") again.add(step.id)
  }
  const $set: Changes = { status: "accepted", cause: "", error: null }
  for (const id of again) {
    const { next_at: _, ...record } = entry.steps[id] ?? { type: "" }
    $set[`steps.${id}`] = { ...record, state: "pending", attempts: 0, duration_ms: 0, result: null, error: null }
  }
  work.in(EntryCollection, organization).update(entry.id, { $set }, { where: { status: "failed" } })
  return [...again]
}
