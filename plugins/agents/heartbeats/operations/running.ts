// Operations to pause and resume heartbeats, run a heartbeat now, and read the results of runs.
import { z } from "zod"
import { AnyJson, AppError, defineList, defineOperation, LogLines, resultOf, Store, Timestamp, Uuid } from "#core"
import { OperationTools } from "#core/engine"
import { ApiKeys } from "../../../platform/organizations/index.ts"
import { RunCollection, runStates, type StoredRun } from "../collections.ts"
import { HeartbeatResource } from "../heartbeat.ts"
import { Heartbeats } from "../heartbeats.ts"
import { madeBy, requireRights } from "../makers.ts"

const path = "/v1/heartbeats/{id}"
const reading = { scope: "heartbeats:read", role: "member" } as const
const writing = { scope: "heartbeats:write", role: "member" } as const
const input = z.strictObject({ id: HeartbeatResource.ref })
const madeHeartbeat = { heartbeat: "heartbeats.create" }
const thatHeartbeat = { id: resultOf("heartbeat.id") }

const RunResource = z
  .object({
    id: Uuid,
    heartbeat_id: Uuid,
    cause: z.enum(["schedule", "manual"]),
    status: z.enum(runStates).describe("`interrupted`: its node went away in the midst of it, and it is not run again."),
    due_at: Timestamp,
    started_at: z.string().describe("RFC 3339; empty before."),
    finished_at: z.string().describe("RFC 3339; empty before."),
    reason: z.string().describe("A stable word for why it failed; empty otherwise."),
    message: z.string(),
    result: AnyJson.describe("Return value of the script, or the last answer of the model."),
    logs: LogLines,
    execution_id: z.string().describe("Execution of the event made of the result. Empty without an event."),
    steps: z
      .array(z.object({ tool: z.string(), input: AnyJson, ok: z.boolean().nullable(), answer: z.string() }))
      .describe("Calls of tools; `ok` is null where the run ended before the answer came."),
    cost_millicents: z.number(),
  })
  .meta({ id: "HeartbeatRun" })

function toRunResource(run: StoredRun): z.input<typeof RunResource> {
  const { id, heartbeat_id, cause, state: status, due_at, reason, message, result, logs = [], steps, cost_millicents } = run
  const { started_at, finished_at, execution_id } = run
  return {
    ...{ id, heartbeat_id, cause, status, due_at, reason, message, result, logs, steps, cost_millicents },
    ...{ started_at: started_at ?? "", finished_at: finished_at ?? "", execution_id: execution_id ?? "" },
  }
}

export const pauseHeartbeat = defineOperation({
  name: "heartbeats.pause",
  summary: "Pause a heartbeat; a run that has begun goes on.",
  http: { method: "POST", path: `${path}/pause` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input,
  output: HeartbeatResource.answer,
  errors: ["not_found", "aborted"],
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: Heartbeats },
  async handle({ input: { id }, caller, deps, work }) {
    const organization = caller.organization.id
    return HeartbeatResource.show(deps.heartbeats.pause(work, organization, await deps.heartbeats.require(organization, id)))
  },
})

export const resumeHeartbeat = defineOperation({
  name: "heartbeats.resume",
  summary: "Resume a paused heartbeat: it runs an interval from now, its failures forgotten.",
  description: "The caller must be allowed all that it does, and answers for it from now on.",
  http: { method: "POST", path: `${path}/resume` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: true },
  input,
  output: HeartbeatResource.answer,
  errors: ["not_found", "permission_denied", "aborted"],
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: Heartbeats, tools: OperationTools, keys: ApiKeys },
  async handle({ input: { id }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.heartbeats.require(organization, id)
    requireRights(deps.tools, caller, stored)
    return HeartbeatResource.show(deps.heartbeats.resume(work, organization, stored, await madeBy(deps.keys, caller, stored)))
  },
})

export const runHeartbeatNow = defineOperation({
  name: "heartbeats.run",
  summary: "Run a heartbeat now, beside its schedule; a paused one too.",
  description: "The caller must be allowed all that it does.",
  http: { method: "POST", path: `${path}/run` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  input,
  output: RunResource,
  errors: ["not_found", "permission_denied", "failed_precondition", "aborted"],
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: Heartbeats, tools: OperationTools },
  async handle({ input: { id }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.heartbeats.require(organization, id)
    requireRights(deps.tools, caller, stored)
    return toRunResource(deps.heartbeats.runNow(work, organization, stored))
  },
  onConflict: async ({ error }) => error,
})

export const listHeartbeatRuns = defineList({
  name: "heartbeats.list_runs",
  summary: "List the runs of a heartbeat, newest first.",
  path: `${path}/runs`,
  access: reading,
  columns: ["status", "reason", "due_at", "finished_at", "id"],
  input: {
    id: HeartbeatResource.ref,
    status: z
      .enum(["", ...runStates])
      .default("")
      .describe("Only those in this state."),
  },
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: Heartbeats },
  collection: RunCollection,
  where: async ({ id, status }, { organization, deps }) => ({
    heartbeat_id: (await deps.heartbeats.require(organization, id)).id,
    ...(status && { state: status }),
  }),
  items: { runs: RunResource },
  view: toRunResource,
})

export const getHeartbeatRun = defineOperation({
  name: "heartbeats.get_run",
  summary: "Read a run of a heartbeat.",
  http: { method: "GET", path: `${path}/runs/{run_id}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: HeartbeatResource.ref, run_id: Uuid.describe("The run's id.") }),
  output: RunResource,
  errors: ["not_found"],
  examples: [
    {
      given: { ...madeHeartbeat, run: { operation: "heartbeats.run", input: thatHeartbeat } },
      input: { ...thatHeartbeat, run_id: resultOf("run.id") },
    },
  ],
  inject: { heartbeats: Heartbeats, store: Store },
  async handle({ input: { id, run_id }, caller, deps }) {
    const organization = caller.organization.id
    const heartbeat = await deps.heartbeats.require(organization, id)
    const run = await deps.store.open(RunCollection, organization).get(run_id)
    if (run?.heartbeat_id === heartbeat.id) return toRunResource(run)
    throw new AppError("not_found", `The heartbeat "${heartbeat.name}" has no run "${run_id}", or its record has expired.`, {
      reason: "heartbeat_run_not_found",
    })
  },
})
