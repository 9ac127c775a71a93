// Runs a declared job by its stored type, as a schedule does, and waits for its end.
import { JobQueue, Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { Jobs } from "../../core/contract/job.ts"
import { JobCollection } from "../../core/jobs/jobs-collection.ts"
import { until } from "../waiting.ts"

export async function runJob(host: TestHost, type: string, payload: object = {}, organization?: string): Promise<void> {
  const job = host.runtime.registry.get(Jobs, type)
  if (!job) throw new Error(`No plugin declares the job "${type}".`)
  const options = organization === undefined ? {} : { organization }
  const id = await host.get(UnitsOfWork).run((work) => host.get(JobQueue).enqueue(work, job, payload, options))
  await until(`the end of the job ${type}`, async () => {
    const remaining = await host.get(Store).open(JobCollection).get(id)
    if (remaining?.state === "dead") throw new Error(`The job ${type} failed: ${remaining.last_error}`)
    return remaining === undefined
  })
}
