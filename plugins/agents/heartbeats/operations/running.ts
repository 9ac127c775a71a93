// Pausing and resuming heartbeats, running one now, and what became of runs.
import { z } from "zod"
import { AppError, defineList, defineOperation, resultOf, Store, Uuid } from "#core"
import { OperationTools } from "#core/engine"
import { ApiKeys } from "../../../platform/organizations/index.ts"
import { RunCollection, runStates } from "../collections.ts"
import { HeartbeatsToken } from "../heartbeats.ts"
import { madeBy, requireRights } from "../makers.ts"
import { HeartbeatId, HeartbeatResource, madeHeartbeat, RunResource, shownHeartbeat, shownRun } from "./resource.ts"

const path = "/v1/heartbeats/{id}"
const reading = { scope: "heartbeats:read", role: "member" } as const
const writing = { scope: "heartbeats:write", role: "member" } as const
const input = z.strictObject({ id: HeartbeatId })
const thatHeartbeat = { id: resultOf("heartbeat.id") }

export const pauseHeartbeat = defineOperation({
  name: "heartbeats.pause",
  summary: "Pause a heartbeat; a run that has begun goes on.",
  http: { method: "POST", path: `${path}/pause` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input,
  output: HeartbeatResource,
  errors: ["not_found", "aborted"],
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: HeartbeatsToken },
  async handle({ input: { id }, caller, deps, work }) {
    const organization = caller.organization.id
    return shownHeartbeat(deps.heartbeats.pause(work, organization, await deps.heartbeats.require(organization, id)))
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
  output: HeartbeatResource,
  errors: ["not_found", "permission_denied", "aborted"],
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: HeartbeatsToken, tools: OperationTools, keys: ApiKeys },
  async handle({ input: { id }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.heartbeats.require(organization, id)
    requireRights(deps.tools, caller, stored)
    return shownHeartbeat(deps.heartbeats.resume(work, organization, stored, await madeBy(deps.keys, caller, stored)))
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
  inject: { heartbeats: HeartbeatsToken, tools: OperationTools },
  async handle({ input: { id }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.heartbeats.require(organization, id)
    requireRights(deps.tools, caller, stored)
    return shownRun(deps.heartbeats.runNow(work, organization, stored))
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
    id: HeartbeatId,
    status: z
      .enum(["", ...runStates])
      .default("")
      .describe("Only those in this state."),
  },
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: HeartbeatsToken },
  collection: RunCollection,
  where: async ({ id, status }, { organization, deps }) => ({
    heartbeat_id: (await deps.heartbeats.require(organization, id)).id,
    ...(status && { state: status }),
  }),
  items: { runs: RunResource },
  view: shownRun,
})

export const getHeartbeatRun = defineOperation({
  name: "heartbeats.get_run",
  summary: "Read a run of a heartbeat.",
  http: { method: "GET", path: `${path}/runs/{run_id}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: HeartbeatId, run_id: Uuid.describe("The run's id.") }),
  output: RunResource,
  errors: ["not_found"],
  examples: [
    {
      given: { ...madeHeartbeat, run: { operation: "heartbeats.run", input: thatHeartbeat } },
      input: { ...thatHeartbeat, run_id: resultOf("run.id") },
    },
  ],
  inject: { heartbeats: HeartbeatsToken, store: Store },
  async handle({ input: { id, run_id }, caller, deps }) {
    const organization = caller.organization.id
    const heartbeat = await deps.heartbeats.require(organization, id)
    const run = await deps.store.open(RunCollection, organization).get(run_id)
    if (run?.heartbeat_id === heartbeat.id) return shownRun(run)
    throw new AppError("not_found", `The heartbeat "${heartbeat.name}" has no run "${run_id}", or its record has expired.`, {
      reason: "heartbeat_run_not_found",
    })
  },
})
