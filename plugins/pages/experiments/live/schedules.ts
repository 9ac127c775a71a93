// Schedules of a running experiment: once a day for its ledger, and at its interval for the weights of its page.
import { createHash } from "node:crypto"
import { z } from "zod"
import { jobRef, type Scheduler, type UnitOfWork } from "#core"
import type { AllocationRule, StoredExperiment } from "../collections.ts"

const payload = z.strictObject({ experiment_id: z.string() })
const retry = { max_attempts: 6, initial_delay_ms: 5_000, factor: 3, max_delay_ms: 600_000 }

export const recordJob = jobRef("experiments.record_live", payload, { retry })
export const allocateJob = jobRef("experiments.allocate", payload, { retry })

/** Stages the schedules of an experiment as it is now, or their end. */
export function keepSchedules(scheduler: Scheduler, work: UnitOfWork, organization: string, experiment: StoredExperiment): void {
  const { id, status, allocation } = experiment
  const running = status === "running"
  const own = { id, organization, payload: { experiment_id: id } }
  if (running) scheduler.set(work, { ...own, job: recordJob, cron: cronOf(id, "1d") })
  else scheduler.remove(work, recordJob, id)
  if (running && allocation) scheduler.set(work, { ...own, job: allocateJob, cron: cronOf(id, allocation.interval) })
  else scheduler.remove(work, allocateJob, id)
}

/** At minutes of its own, so that not all experiments are counted at once. */
function cronOf(id: string, interval: AllocationRule["interval"]): string {
  const hash = createHash("sha256").update(id).digest()
  const minute = hash.readUInt8(0) % 60
  if (interval === "1h") return `${minute} * * * *`
  const first = hash.readUInt8(1) % 6
  return `${minute} ${interval === "6h" ? [0, 6, 12, 18].map((hour) => hour + first).join(",") : first} * * *`
}
