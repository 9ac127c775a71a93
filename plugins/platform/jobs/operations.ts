// Operations on an organization's jobs. A finished job is removed. A job without remaining tries stays `dead` until a retry.
import { z } from "zod"
import {
  AnyJson,
  AppError,
  defineOperation,
  type Filter,
  JobQueue,
  Pager,
  pageInput,
  resultOf,
  Store,
  Timestamp,
  type UnitOfWork,
  Uuid,
} from "#core"
import { JobCollection, type JobDocument, PipelineEngine, PipelineSource } from "#core/engine"
import { EventPipelines } from "../../capture/pipelines/index.ts"

const State = z.enum(["queued", "dead"])

/** A pipeline with a permanently failed external call. */
const failed = {
  pipeline: {
    operation: "event_pipelines.create",
    input: {
      name: "Tell the CRM",
      state: "active",
      pipeline: [{ id: "tell", type: "http.request", url: "https://crm.example.com/leads", retry: { max_attempts: 1 } }],
    },
  },
  event: { operation: "event_pipelines.send_event", input: { slug: resultOf("pipeline.slug"), payload: { email: "ada@example.com" } } },
  dead: "jobs.list",
}
const failedJob = { given: failed, input: { id: resultOf("dead.jobs.0.id") } }

const jobShape = z.object({
  id: z.string(),
  type: z.string().describe("Job type, such as pipeline.deferred."),
  state: State.describe("`queued`: waiting, running or waiting for its next attempt. `dead`: all attempts failed."),
  attempts: z.int().describe("Failed attempts."),
  max_attempts: z.int(),
  run_at: Timestamp.describe("Time when it is due; while it runs, when its lease expires."),
  last_error: z.string().nullable(),
  execution_id: Uuid.nullable().describe("Execution whose deferred steps it runs; null for other jobs."),
  created_at: Timestamp,
})

const Job = jobShape.meta({ id: "Job" })
const JobDetail = jobShape.extend({ payload: AnyJson.describe("Input of the job.") }).meta({ id: "JobDetail" })

export const listJobs = defineOperation({
  name: "jobs.list",
  summary: "List dead jobs, or queued ones, newest first.",
  http: { method: "GET", path: "/v1/jobs" },
  access: { scope: "jobs:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["state", "type", "attempts", "run_at", "last_error", "id", "execution_id"],
  input: z.strictObject({
    state: State.default("dead"),
    type: z.string().min(1).max(200).optional().describe("Only jobs of this type."),
    ...pageInput,
  }),
  output: z.object({ jobs: z.array(Job), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  inject: { store: Store, pager: Pager },
  async handle({ input: { state, type, limit, cursor }, caller, deps }) {
    const organization = caller.organization.id
    const page = await deps.pager.page({
      collection: deps.store.open(JobCollection),
      organization,
      cursorScope: `jobs ${state} ${type ?? ""}`,
      filter: { organization, state, ...(type === undefined ? {} : { type }) },
      sort: { created_at: -1 },
      request: { limit, cursor },
    })
    return { jobs: page.items.map(toResource), next_cursor: page.next_cursor }
  },
})

export const getJob = defineOperation({
  name: "jobs.get",
  summary: "Read a queued or dead job, with its payload.",
  http: { method: "GET", path: "/v1/jobs/{id}" },
  access: { scope: "jobs:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: z.string().min(1).max(200) }),
  output: JobDetail,
  errors: ["not_found"],
  examples: [failedJob],
  inject: { store: Store },
  async handle({ input, caller, deps }) {
    const job = await jobOf(deps.store, caller.organization.id, input.id)
    return { ...toResource(job), payload: job.payload }
  },
})

export const retryJob = defineOperation({
  name: "jobs.retry",
  summary: "Retry a dead job, from its first attempt.",
  description: "Deferred steps of a pipeline keep their idempotency keys; steps that succeeded are not run again.",
  http: { method: "POST", path: "/v1/jobs/{id}/retry" },
  access: { scope: "jobs:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({ id: z.string().min(1).max(200) }),
  output: z.object({ id: z.string(), steps: z.array(z.string()).describe("Ids of the deferred steps that are retried.") }),
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [failedJob],
  inject: { store: Store, queue: JobQueue, engine: PipelineEngine, source: PipelineSource },
  async handle({ input, caller, deps, work }) {
    const job = await jobOf(deps.store, caller.organization.id, input.id)
    if (job.state !== "dead") {
      const message = `Job ${job.id} is not dead: it is ${job.state}, due at ${job.run_at}. Only dead jobs can be retried.`
      throw new AppError("failed_precondition", message, { reason: "not_dead" })
    }
    return { id: job.id, steps: [...(await stageRetry(deps, caller.organization.id, job, work))] }
  },
})

/** Maximum of jobs in one call. Each job adds a few writes to the commit. */
const maxRetried = 200

export const retryJobs = defineOperation({
  name: "jobs.retry_all",
  summary: "Retry all matching dead jobs, oldest first, each from its first attempt.",
  description: `At most ${maxRetried} at a time: call it again while \`more\` is true. Jobs that cannot be retried, for example because their pipeline was deleted, are listed in \`skipped\` and stay unchanged.`,
  http: { method: "POST", path: "/v1/jobs/retry" },
  access: { scope: "jobs:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({
    pipeline: z.string().min(1).max(200).optional().describe("Only deferred steps of this pipeline: its slug or id."),
    type: z.string().min(1).max(200).optional().describe("Only jobs of this type."),
    since: Timestamp.optional().describe("Only jobs that were made at this time or later."),
    until: Timestamp.optional().describe("Only jobs that were made before this time."),
    limit: z.int().min(1).max(maxRetried).default(maxRetried),
  }),
  output: z.object({
    retried: z.int().describe("Number of jobs that are retried."),
    skipped: z.array(z.object({ id: z.string(), reason: z.string() })).describe("Jobs that cannot be retried, and why."),
    more: z.boolean().describe("Whether more jobs match."),
  }),
  errors: ["not_found", "aborted"],
  examples: [{ given: failed, input: { pipeline: resultOf("pipeline.slug") } }],
  inject: { store: Store, queue: JobQueue, engine: PipelineEngine, source: PipelineSource, pipelines: EventPipelines },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const skipped: { id: string; reason: string }[] = []
    let retried = 0
    for await (const job of deps.store.open(JobCollection).stream(await matching(input, organization, deps), { sort: { created_at: 1 } })) {
      if (retried === input.limit) return { retried, skipped, more: true }
      try {
        await stageRetry(deps, organization, job, work)
        retried++
      } catch (error) {
        if (!(error instanceof AppError) || skipped.length === maxRetried) throw error
        skipped.push({ id: job.id, reason: error.message })
      }
    }
    return { retried, skipped, more: false }
  },
})

type RetryFilter = { readonly [Field in "pipeline" | "type" | "since" | "until"]?: string | undefined }

/** Throws `not_found` for an unknown pipeline. */
async function matching(
  { pipeline, type, since, until }: RetryFilter,
  organization: string,
  { pipelines }: { pipelines: EventPipelines },
): Promise<Filter> {
  const created = { ...(since === undefined ? {} : { $gte: since }), ...(until === undefined ? {} : { $lt: until }) }
  const record = pipeline === undefined ? undefined : await pipelines.get(organization, pipeline)
  return {
    organization,
    state: "dead",
    ...(type === undefined ? {} : { type }),
    ...(record ? { "payload.pipeline_id": record.id } : {}),
    ...(Object.keys(created).length > 0 ? { created_at: created } : {}),
  }
}

/** Throws `not_found` for a job of another organization or of the service itself. */
async function jobOf(store: Store, organization: string, id: string): Promise<JobDocument> {
  const job = await store.open(JobCollection).get(id)
  if (job?.organization !== organization)
    throw new AppError("not_found", `The job ${id} does not exist: it never did, or is done.`, { reason: "job_not_found" })
  return job
}

/** A job of deferred steps shows the tries of its step. Its own tries are for faults of the service. */
function toResource(job: JobDocument): z.input<typeof Job> {
  const { id, type, state, run_at, created_at } = job
  const { attempts, max_attempts, last_error } = job.progress ?? { ...job, max_attempts: job.retry.max_attempts }
  return {
    id,
    type,
    state,
    attempts,
    max_attempts,
    run_at,
    last_error,
    execution_id: executionOf(job)?.execution_id ?? null,
    created_at,
  }
}

// Retries a dead job. For deferred steps, the failure is also in the journal entry. The engine updates both.

const deferredType = "pipeline.deferred"
const DeferredPayload = z.object({ pipeline_id: z.uuid(), execution_id: z.uuid() })

/** Returns undefined if the job is not deferred work of a pipeline. */
function executionOf(job: JobDocument): z.infer<typeof DeferredPayload> | undefined {
  if (job.type !== deferredType) return undefined
  return DeferredPayload.safeParse(job.payload).data
}

interface Services {
  readonly queue: JobQueue
  readonly engine: PipelineEngine
  readonly source: PipelineSource
}

/** Stages the retry. Returns the ids of the retried steps. Empty if the job belongs to no pipeline. */
async function stageRetry(services: Services, organization: string, job: JobDocument, work: UnitOfWork): Promise<readonly string[]> {
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
