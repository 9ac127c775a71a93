// Work that outlives the call that asked for it, as people see it: what waits, what has failed permanently, and trying that
// again.
import { z } from "zod"
import { definePlugin } from "#core"
import { getJob, listJobs, retryJob, retryJobs } from "./operations.ts"
import { reasons } from "./reasons.ts"

export default definePlugin({
  id: "jobs",
  reasons,
  needs: ["event-pipelines"],
  config: z.strictObject({}),
  register: (registrar) => registrar.operations(listJobs, getJob, retryJob, retryJobs),
})
