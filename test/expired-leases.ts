// Jobs of a killed node, resumed by a live node.
import { JobQueue } from "#core"
import type { TestHost } from "#core/testing"
import type { DurableQueue } from "../core/jobs/queue.ts"
import { until } from "./waiting.ts"

/** Moves the clock past the leases of jobs. Waits for running jobs of the host first: they would time out. */
export async function expireLeases(host: TestHost): Promise<void> {
  const queue = host.get(JobQueue) as DurableQueue
  await until("no job being on its way", () => {
    if (queue.depth.running + queue.depth.waiting > 0) return false
    host.clock.move(host.runtime.config.jobs.lease_ms)
    return true
  })
}
