// Replay plans: rehearse the events of a filter, compare the predicted outcomes, then replay the events.
import { z } from "zod"
import { defineList, defineOperation, resultOf, SlugOrId, Timestamp, Uuid } from "#core"
import { EventPipelines } from "../../pipelines/index.ts"
import { outcomes, PlannedEventCollection, planStates, type ReplayPlan, ReplayPlanCollection } from "../replaying/collections.ts"
import { maxEvents, ReplayPlansToken } from "../replaying/plans.ts"

const path = "/v1/replay-plans"
const Status = z.enum(["accepted", "rejected", "failed"])
const filterFields = {
  status: Status.optional(),
  cause: z.string().min(1).max(200).optional().describe("Stable word for the failure."),
  is_test: z.boolean().optional(),
  since: Timestamp.optional().describe("Received at or after."),
  until: Timestamp.optional().describe("Received before; the time of the call where absent or later."),
}
const Outcome = z
  .enum(outcomes)
  .describe(
    "`same`: as it was; `differs`: the fields in `detail` do; `accepted_now`: it was rejected or failed, and would be accepted; `fails`: at what `detail` names; `skipped`: it cannot be replayed.",
  )

const ReplayPlanWire = z
  .object({
    id: Uuid,
    pipeline_id: Uuid,
    pipeline_slug: z.string(),
    filter: z.object(filterFields),
    state: z.enum(planStates),
    count: z.int().describe("Events that the filter found."),
    rehearsed: z.int(),
    replayed: z.object({ accepted: z.int(), rejected: z.int(), failed: z.int(), skipped: z.int() }),
    groups: z.array(
      z.object({
        outcome: Outcome,
        detail: z.string(),
        count: z.int(),
        samples: z.array(Uuid).describe("Ids of some of their executions."),
      }),
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "ReplayPlan" })

function toWire(plan: ReplayPlan): z.input<typeof ReplayPlanWire> {
  const { id, pipeline_id, pipeline_slug, filter, state, count, rehearsed, replayed, groups, created_at, updated_at } = plan
  const largestFirst = [...groups].sort((a, b) => b.count - a.count)
  return { id, pipeline_id, pipeline_slug, filter, state, count, rehearsed, replayed, groups: largestFirst, created_at, updated_at }
}

const given = {
  pipeline: {
    operation: "event_pipelines.create",
    input: { name: "Replayed orders", state: "active", source_kind: "internal", pipeline: [] },
  },
  event: { operation: "event_pipelines.send_event", input: { slug: resultOf("pipeline.slug"), payload: { order: "A-1" } } },
} as const
/** Returns the setup of an example with its own plan. */
function planned(day: number, more: Record<string, { operation: string; input: object }> = {}) {
  const since = `2026-01-${String(day).padStart(2, "0")}T00:00:00.000Z`
  const plan = { operation: "replay_plans.create", input: { pipeline: resultOf("pipeline.slug"), since } }
  return { given: { ...given, plan, ...more }, input: { id: resultOf("plan.id") } }
}

export const createPlan = defineOperation({
  name: "replay_plans.create",
  summary: "Make a plan of replays: run dry what a filter finds, and say what would be other than it was.",
  description: `Up to ${maxEvents} verified events of one pipeline that are neither replays nor repeats. Nothing is written or sent before the plan is started.`,
  http: { method: "POST", path },
  access: { scope: "replay_plans:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({ pipeline: SlugOrId, ...filterFields }),
  output: ReplayPlanWire,
  errors: ["invalid_argument", "not_found", "failed_precondition"],
  examples: [{ given, input: { pipeline: resultOf("pipeline.slug"), status: "accepted" } }],
  inject: { plans: ReplayPlansToken, pipelines: EventPipelines },
  async handle({ input: { pipeline, ...filter }, caller, deps, work }) {
    const { id, slug } = await deps.pipelines.get(caller.organization.id, pipeline)
    const kept = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
    return toWire(await deps.plans.create(work, caller.organization.id, { id, slug }, kept))
  },
})

export const listPlans = defineList({
  name: "replay_plans.list",
  summary: "List replay plans, newest first.",
  path,
  access: { scope: "replay_plans:read", role: "member" },
  columns: ["pipeline_slug", "state", "count", "rehearsed", "created_at", "id"],
  collection: ReplayPlanCollection,
  items: { replay_plans: ReplayPlanWire },
  view: toWire,
})

export const getPlan = defineOperation({
  name: "replay_plans.get",
  summary: "Read a replay plan: how far it is, and its events by what would become of them.",
  http: { method: "GET", path: `${path}/{id}` },
  access: { scope: "replay_plans:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: Uuid }),
  output: ReplayPlanWire,
  errors: ["not_found"],
  examples: [planned(1)],
  inject: { plans: ReplayPlansToken },
  handle: async ({ input, caller, deps }) => toWire(await deps.plans.get(caller.organization.id, input.id)),
})

export const listPlanEvents = defineList({
  name: "replay_plans.list_events",
  summary: "List the events of a replay plan, each with its replay.",
  path: `${path}/{id}/events`,
  access: { scope: "replay_plans:read", role: "member" },
  columns: ["execution_id", "outcome", "detail", "replay_id", "replay_status"],
  input: { id: Uuid, outcome: Outcome.optional() },
  examples: [planned(2)],
  inject: { plans: ReplayPlansToken },
  collection: PlannedEventCollection,
  where: async ({ id, ...asked }, { organization, deps }) => ({ plan_id: (await deps.plans.get(organization, id)).id, ...asked }),
  sort: { execution_id: 1 },
  items: {
    events: z.object({
      execution_id: Uuid,
      outcome: Outcome,
      detail: z.string(),
      replay_id: Uuid.nullable().describe("The execution that replayed it."),
      replay_status: z.enum(["accepted", "rejected", "failed", "skipped"]).nullable(),
    }),
  },
  view: ({ execution_id, outcome, detail, replay_id, replay_status }) => ({
    execution_id,
    outcome,
    detail,
    replay_id,
    replay_status: replay_status as "accepted" | null,
  }),
})

function changes(
  asked: "start" | "pause" | "resume" | "stop",
  summary: string,
  example: ReturnType<typeof planned>,
  more: { description?: string } = {},
) {
  return defineOperation({
    name: `replay_plans.${asked}`,
    summary,
    ...more,
    http: { method: "POST", path: `${path}/{id}/${asked}` },
    access: { scope: "replay_plans:write", role: "member" },
    hints: {
      readOnly: false,
      destructive: true,
      idempotent: false,
      ...(asked === "start" || asked === "resume" ? { openWorld: "by_job" as const } : {}),
    },
    input: z.strictObject({ id: Uuid }),
    output: ReplayPlanWire,
    errors: ["not_found", "failed_precondition", "aborted"],
    examples: [example],
    inject: { plans: ReplayPlansToken },
    handle: async ({ input, caller, deps, work }) => toWire(await deps.plans.change(work, caller.organization.id, input.id, asked)),
    // The plan's job changes the revision after each batch.
    onConflict: async ({ error }) => error,
  })
}

export const startPlan = changes("start", "Start the replays of a plan.", planned(3), {
  description:
    "Oldest first. Rows keep their identity and deferred steps their idempotency keys, so that what was done already is not done twice; the first executions stay. A plan survives a restart, and replays no event twice.",
})
export const pausePlan = changes("pause", "Pause a replay plan.", planned(4))
export const resumePlan = changes(
  "resume",
  "Resume a replay plan that was paused.",
  planned(5, { paused: { operation: "replay_plans.pause", input: { id: resultOf("plan.id") } } }),
)
export const stopPlan = changes("stop", "Stop a replay plan; what was replayed stays.", planned(6))
