// Making, listing, reading, changing and deleting heartbeats (specification 2.7, 4.13).
import { z } from "zod"
import {
  defineOperation,
  omitReadOnly,
  Pager,
  readOnlyInput,
  requireRevision,
  resultOf,
  Scripts,
  Store,
  Uuid,
  wholeListInput,
  wholeListPage,
} from "#core"
import { OperationTools, PipelineSource } from "#core/engine"
import { Datasets } from "../../../data/datasets/index.ts"
import { ApiKeys } from "../../../platform/organizations/index.ts"
import { Models } from "../../models/index.ts"
import { HeartbeatCollection, heartbeatKinds, heartbeatStates } from "../collections.ts"
import { requireFitting } from "../fitting.ts"
import { type HeartbeatFields, HeartbeatsToken } from "../heartbeats.ts"
import { changesActing, madeBy } from "../makers.ts"
import {
  HeartbeatId,
  HeartbeatName,
  HeartbeatResource,
  heartbeatFields,
  madeHeartbeat,
  readOnlyHeartbeatFields,
  shownHeartbeat,
} from "./resource.ts"

const path = "/v1/heartbeats"
const reading = { scope: "heartbeats:read", role: "member" } as const
const writing = { scope: "heartbeats:write", role: "member" } as const
const fitting = { scripts: Scripts, datasets: Datasets, source: PipelineSource, tools: OperationTools, models: Models, keys: ApiKeys }
const thatHeartbeat = { id: resultOf("heartbeat.id") }

export const createHeartbeat = defineOperation({
  name: "heartbeats.create",
  summary: "Make a heartbeat: work that is done again and again, by a script or by a model.",
  description:
    "The first run is an interval from now, or when the window opens. Of several nodes one runs it; runs that were missed while none was up become one. A heartbeat does nothing that its maker may not.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({
    name: HeartbeatName,
    kind: z.enum(heartbeatKinds),
    state: z.enum(heartbeatStates).default("active"),
    description: heartbeatFields.description.default(""),
    interval_minutes: heartbeatFields.interval_minutes,
    active_days: heartbeatFields.active_days.default([1, 2, 3, 4, 5, 6, 7]),
    active_window_start: heartbeatFields.active_window_start.default(""),
    active_window_end: heartbeatFields.active_window_end.default(""),
    timezone: heartbeatFields.timezone.default("UTC"),
    script_js: heartbeatFields.script_js.default(""),
    datasets: heartbeatFields.datasets.default([]),
    pipeline_slug: heartbeatFields.pipeline_slug.default(""),
    instructions: heartbeatFields.instructions.default(""),
    model: heartbeatFields.model.default(""),
    role: heartbeatFields.role.default("guest"),
    tools: heartbeatFields.tools.default([]),
    max_steps: heartbeatFields.max_steps.default(8),
    budget_millicents: heartbeatFields.budget_millicents.default(10_000),
  }),
  output: HeartbeatResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "permission_denied", "resource_exhausted", "unavailable"],
  examples: [
    { input: { ...madeHeartbeat.heartbeat.input, kind: "script", active_days: [1, 2, 3, 4, 5], timezone: "Europe/Berlin" } },
    {
      title: "Within office hours, with rows of a dataset",
      given: { dataset: "datasets.create" },
      input: {
        name: "Stale leads",
        kind: "script",
        interval_minutes: 1_440,
        active_window_start: "09:00",
        active_window_end: "17:00",
        datasets: [{ slug: resultOf("dataset.slug"), limit: 10 }],
        script_js: "function script(input) { return { rows: Object.values(input.datasets)[0].length } }",
      },
    },
  ],
  inject: { heartbeats: HeartbeatsToken, ...fitting },
  async handle({ input: { state, ...fields }, caller, deps, work }) {
    await requireFitting(deps, caller, fields)
    return shownHeartbeat(
      await deps.heartbeats.create(work, caller.organization.id, { ...fields, ...(await madeBy(deps.keys, caller)) }, state === "paused"),
    )
  },
})

export const listHeartbeats = defineOperation({
  name: "heartbeats.list",
  summary: "List the organization's heartbeats, newest first.",
  http: { method: "GET", path },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  columns: ["name", "kind", "state", "latest_status", "next_run_at"],
  input: z.strictObject({
    state: z
      .enum(["", ...heartbeatStates])
      .default("")
      .describe("Only those in this state."),
    kind: z
      .enum(["", ...heartbeatKinds])
      .default("")
      .describe("Only those of this kind."),
    ...wholeListInput,
  }),
  output: z.object({
    heartbeats: z.array(HeartbeatResource),
    total: z.int().describe("How many there are in all pages."),
    next_cursor: z.string(),
  }),
  errors: ["invalid_argument"],
  inject: { store: Store, pager: Pager },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const { state, kind } = input
    const filter = { ...(state === "" ? {} : { state }), ...(kind === "" ? {} : { kind }) }
    const collection = deps.store.open(HeartbeatCollection, organization)
    const cursorScope = JSON.stringify(["heartbeats.list", state, kind])
    const [page, total] = await Promise.all([
      deps.pager.page({ collection, organization, cursorScope, filter, sort: { id: -1 }, request: wholeListPage(input, caller.surface) }),
      collection.count(filter),
    ])
    return { heartbeats: page.items.map(shownHeartbeat), total, next_cursor: page.next_cursor }
  },
})

export const getHeartbeat = defineOperation({
  name: "heartbeats.get",
  summary: "Read a heartbeat.",
  http: { method: "GET", path: `${path}/{id}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: HeartbeatId }),
  output: HeartbeatResource,
  errors: ["not_found"],
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: HeartbeatsToken },
  handle: async ({ input, caller, deps }) => shownHeartbeat(await deps.heartbeats.require(caller.organization.id, input.id)),
})

export const updateHeartbeat = defineOperation({
  name: "heartbeats.update",
  summary: "Change a heartbeat: only the fields that are given.",
  description: "Takes back what a read answered. New times count from now. The caller must be allowed all that it then does.",
  http: { method: "PATCH", path: `${path}/{id}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    id: HeartbeatId,
    name: HeartbeatName.optional(),
    description: heartbeatFields.description.optional(),
    interval_minutes: heartbeatFields.interval_minutes.optional(),
    active_days: heartbeatFields.active_days.optional(),
    active_window_start: heartbeatFields.active_window_start.optional(),
    active_window_end: heartbeatFields.active_window_end.optional(),
    timezone: heartbeatFields.timezone.optional(),
    script_js: heartbeatFields.script_js.optional(),
    datasets: heartbeatFields.datasets.optional(),
    pipeline_slug: heartbeatFields.pipeline_slug.optional(),
    instructions: heartbeatFields.instructions.optional(),
    model: heartbeatFields.model.optional(),
    role: heartbeatFields.role.optional(),
    tools: heartbeatFields.tools.optional(),
    max_steps: heartbeatFields.max_steps.optional(),
    budget_millicents: heartbeatFields.budget_millicents.optional(),
    expected_revision: z.int().min(1).optional().describe("Revision that was read; another one refuses the change."),
    ...readOnlyInput(readOnlyHeartbeatFields.filter((name) => name !== "id")),
  }),
  output: HeartbeatResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "permission_denied", "aborted", "unavailable"],
  examples: [
    {
      given: madeHeartbeat,
      input: { ...thatHeartbeat, interval_minutes: 30, active_days: [1, 2, 3], expected_revision: resultOf("heartbeat.revision") },
    },
  ],
  inject: { heartbeats: HeartbeatsToken, ...fitting },
  async handle({ input: { id, expected_revision, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.heartbeats.require(organization, id)
    requireRevision("heartbeat", stored.revision, expected_revision)
    const given = omitReadOnly(fields, shownHeartbeat(stored), readOnlyHeartbeatFields)
    const wanted = Object.entries(given).filter(([name, value]) => {
      const before = stored[name as keyof HeartbeatFields]
      return value !== undefined && JSON.stringify(value) !== JSON.stringify(before)
    })
    if (wanted.length === 0) return shownHeartbeat(stored)
    const change = Object.fromEntries(wanted) as Partial<HeartbeatFields>
    await requireFitting(deps, caller, { ...stored, ...change })
    const made = changesActing(change) ? await madeBy(deps.keys, caller, stored) : {}
    return shownHeartbeat(deps.heartbeats.update(work, organization, stored, { ...change, ...made }))
  },
})

export const deleteHeartbeat = defineOperation({
  name: "heartbeats.delete",
  summary: "Delete a heartbeat; the records of its runs go when they expire.",
  http: { method: "DELETE", path: `${path}/{id}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ id: HeartbeatId }),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found", "aborted"],
  examples: [{ given: madeHeartbeat, input: thatHeartbeat }],
  inject: { heartbeats: HeartbeatsToken },
  async handle({ input, caller, deps, work }) {
    const stored = await deps.heartbeats.require(caller.organization.id, input.id)
    deps.heartbeats.remove(work, caller.organization.id, stored)
    return { id: stored.id, deleted: true as const }
  },
})
