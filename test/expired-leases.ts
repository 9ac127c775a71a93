// Jobs that a killed node held, taken over by one that lives.
import { JobQueue } from "#core"
import type { TestHost } from "#core/testing"
import type { DurableQueue } from "../core/jobs/queue.ts"
import { until } from "./waiting.ts"

/** Moves the clock past the leases of jobs, once the host runs none: one on its way would time out by that. */
export async function expireLeases(host: TestHost): Promise<void> {
  const queue = host.get(JobQueue) as DurableQueue
  await until("no job being on its way", () => {
    if (queue.depth.running + queue.depth.waiting > 0) return false
    host.clock.move(host.runtime.config.jobs.lease_ms)
    return true
  })
}
