// Jobs for people: lists queued and permanently failed jobs, and retries them.
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
