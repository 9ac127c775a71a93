// The execution log: lists and shows executions, replays events and retries steps.
import { z } from "zod"
import { AnyJson, Clock, defineOperation, LogLines, Pager, pageInput, Settings, SlugOrId, Store, Timestamp, Uuid } from "#core"
import { type JournalEntry, PipelineEngine, PipelineSource, retainedEntry } from "#core/engine"
import { newestEntries } from "../newest-entries.ts"
import { EventPipelines } from "../pipelines.ts"
import { Force, refuseForce, requireEntry, requirePipeline, seesPayloads } from "../rules.ts"
import { notDelivered, taken } from "./examples.ts"

const path = "/v1/event-pipelines/{slug}/executions"

const Status = z.enum(["accepted", "rejected", "failed"])
const Problem = z.object({ code: z.string(), message: z.string(), step: z.string().optional() })

export const Execution = z
  .object({
    id: Uuid,
    pipeline_id: Uuid,
    pipeline_slug: z.string(),
    revision: z.int(),
    status: Status,
    cause: z.string().describe("Stable word for the failure; empty on success."),
    error: Problem.nullable(),
    received_at: Timestamp,
    is_test: z.boolean(),
    payload_preview: z.string(),
    response: z.object({ status: z.int(), body: z.string() }).nullable(),
    repeat_of: z.string().nullable(),
    replay_of: z.string().nullable(),
    count: z.int().describe("Number of events that the entry counts."),
    first_at: Timestamp,
    last_at: Timestamp,
  })
  .meta({ id: "Execution" })

const StepWire = z.object({
  type: z.string(),
  state: z.enum(["done", "skipped", "failed", "pending", "running"]),
  attempts: z.int(),
  duration_ms: z.number(),
  result: AnyJson,
  error: Problem.nullable(),
  next_at: Timestamp.optional(),
  approval_id: z
    .string()
    .optional()
    .describe("Of a step with `gate`: the approval that it needs. It waits for a person while it is `pending` with no attempts."),
  skipped_after: z
    .string()
    .optional()
    .describe("Of a skipped step: the failed one that it would have come after. Absent where its `when` was false."),
})

export const ExecutionDetail = Execution.extend({
  verdict: z.object({
    ok: z.boolean(),
    mode: z.string(),
    cause: z.string(),
    message: z.string(),
    secret_id: z.string().nullable(),
    event_id: z.string().nullable(),
    event_type: z.string().nullable(),
  }),
  dedupe: z.object({ key: z.string(), outcome: z.enum(["first", "repeat"]) }).nullable(),
  schema_errors: z.array(z.object({ pointer: z.string(), message: z.string() })),
  warnings: z.array(z.object({ pointer: z.string(), message: z.string() })).describe("Parts of the event that were dropped."),
  logs: LogLines,
  forced: z.boolean().describe("Whether an admin ran it on a disabled pipeline by `force`."),
  transformed: AnyJson,
  envelope: AnyJson,
  steps: z.record(z.string(), StepWire),
  timings: z.record(z.string(), z.number()).describe("Milliseconds by stage."),
  rows: z.array(z.object({ step: z.string(), dataset: z.string(), row_id: z.string() })),
  digest: z.string(),
  depth: z.int(),
}).meta({ id: "ExecutionDetail" })

const summaryFields = Object.keys(Execution.shape) as (keyof z.infer<typeof Execution>)[]
const detailFields = Object.keys(ExecutionDetail.shape) as (keyof z.infer<typeof ExecutionDetail>)[]

/** Returns the entry in the form of lists. */
export function executionSummary(entry: JournalEntry, payloads: boolean): z.infer<typeof Execution> {
  const shown = pick(entry, summaryFields)
  return payloads ? shown : { ...shown, ...withoutPayload(entry) }
}

/** Returns the entry with its details. */
export function executionDetail(entry: JournalEntry, payloads: boolean): z.input<typeof ExecutionDetail> {
  const shown = pick(entry, detailFields)
  if (payloads) return shown
  const { dedupe } = entry
  const steps = Object.fromEntries(
    Object.entries(entry.steps).map(([id, step]) => [id, { ...step, result: null, error: step.error && { ...step.error, message: "" } }]),
  )
  return {
    ...shown,
    ...withoutPayload(entry),
    dedupe: dedupe && { ...dedupe, key: "" },
    schema_errors: entry.schema_errors.map(({ pointer }) => ({ pointer, message: "" })),
    logs: [],
    transformed: null,
    envelope: null,
    steps,
    rows: [],
  }
}

/** Removes error messages too: a transform's error may quote the payload. */
function withoutPayload({ response, error }: JournalEntry) {
  return { payload_preview: "", response: response && { ...response, body: "" }, error: error && { ...error, message: "" } }
}

function pick<K extends keyof JournalEntry>(entry: JournalEntry, fields: readonly K[]): Pick<JournalEntry, K> {
  return Object.fromEntries(fields.map((field) => [field, entry[field]])) as Pick<JournalEntry, K>
}

export const listExecutions = defineOperation({
  name: "event_pipelines.list_executions",
  summary: "List the executions of a pipeline, newest first.",
  http: { method: "GET", path },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  columns: ["received_at", "status", "cause", "id", "error.step", "is_test", "repeat_of", "replay_of"],
  input: z.strictObject({
    slug: SlugOrId,
    status: Status.optional(),
    cause: z.string().min(1).max(200).optional().describe("Stable word for the failure."),
    since: Timestamp.optional().describe("Received at or after."),
    until: Timestamp.optional().describe("Received before."),
    is_test: z.boolean().optional(),
    ...pageInput,
  }),
  output: z.object({ executions: z.array(Execution), next_cursor: z.string() }),
  errors: ["invalid_argument", "not_found"],
  examples: [{ given: taken.given, input: { slug: taken.input.slug, status: "accepted" } }],
  resource: { uri: "millrace://event-pipelines/{slug}/executions" },
  inject: { pipelines: EventPipelines, store: Store, pager: Pager, clock: Clock, settings: Settings },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const { id } = await deps.pipelines.get(organization, input.slug)
    const { slug: _, limit, cursor, ...filter } = input
    const { items, next_cursor } = await deps.pager.pageOf({
      organization,
      cursorScope: `executions ${JSON.stringify([id, filter])}`,
      sort: { received_at: -1 },
      request: { limit, cursor },
      read: (most, after) =>
        newestEntries({ store: deps.store, organization, pipelines: async () => [id], pipeline: id, filter, limit: most, after }),
    })
    const { payloads_days } = deps.settings.retention
    const now = deps.clock.now()
    return {
      executions: items.map((entry) => executionSummary(retainedEntry(entry, payloads_days, now), seesPayloads(caller))),
      next_cursor,
    }
  },
})

export const getExecution = defineOperation({
  name: "event_pipelines.get_execution",
  summary: "Read one execution: the complete record of an event.",
  http: { method: "GET", path: `${path}/{id}` },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ slug: SlugOrId, id: Uuid }),
  output: ExecutionDetail,
  errors: ["not_found"],
  examples: [taken],
  resource: { uri: "millrace://event-pipelines/{slug}/executions/{id}" },
  inject: { pipelines: EventPipelines, store: Store, clock: Clock, settings: Settings },
  async handle({ input, caller, deps }) {
    const pipeline = await deps.pipelines.get(caller.organization.id, input.slug)
    const entry = await requireEntry(deps.store, caller.organization.id, pipeline, input.id)
    const { payloads_days } = deps.settings.retention
    return executionDetail(retainedEntry(entry, payloads_days, deps.clock.now()), seesPayloads(caller))
  },
})

export const replayExecution = defineOperation({
  name: "event_pipelines.replay_execution",
  summary: "Replay a journalled event, from its stored payload, as a new execution.",
  description:
    "Each call runs the whole pipeline again, as a new execution. Rows keep their identity and position, and deferred steps their idempotency keys, so rows are not duplicated and other systems can detect the repeat.",
  http: { method: "POST", path: `${path}/{id}/replay` },
  access: { scope: "event_pipelines:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  input: z.strictObject({ slug: SlugOrId, id: Uuid, force: Force }),
  output: z.object({
    execution_id: Uuid,
    status: Status,
    replay_of: Uuid,
    response: z.object({ status: z.int(), headers: z.record(z.string(), z.string()), body: AnyJson }),
  }),
  errors: ["not_found", "failed_precondition", "resource_exhausted", "permission_denied"],
  examples: [taken],
  inject: { engine: PipelineEngine, source: PipelineSource },
  async handle({ input, caller, deps }) {
    refuseForce(input.force, caller)
    const stored = await requirePipeline(deps.source, caller.organization.id, input.slug)
    const { execution_id, status, reply } = await deps.engine.replay(stored, input.id, caller, { force: input.force })
    return {
      execution_id,
      status,
      replay_of: input.id,
      response: { status: reply.status, headers: { ...reply.headers }, body: reply.body },
    }
  },
})

export const retryExecution = defineOperation({
  name: "event_pipelines.retry_execution",
  summary: "Retry the dead deferred steps of an execution.",
  description: "They run with the pipeline's revision of the event and the same idempotency keys; steps that succeeded are not run again.",
  http: { method: "POST", path: `${path}/{id}/retry` },
  access: { scope: "event_pipelines:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({ slug: SlugOrId, id: Uuid }),
  output: z.object({ execution_id: Uuid, steps: z.array(z.string()).describe("Ids of the steps that are retried.") }),
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [notDelivered],
  inject: { engine: PipelineEngine, source: PipelineSource },
  async handle({ input, caller, deps, work }) {
    const stored = await requirePipeline(deps.source, caller.organization.id, input.slug)
    return { execution_id: input.id, steps: [...(await deps.engine.retry(stored, input.id, work))] }
  },
})
