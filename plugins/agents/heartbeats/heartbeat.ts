// A heartbeat: its fields, and the operations that create, list, read, change and delete it.
import { z } from "zod"
import {
  byId,
  type Clock,
  defineResource,
  type Ids,
  type ItemOf,
  JobQueue,
  type Json,
  Name,
  resultOf,
  Scripts,
  Slug,
  token,
  type UnitOfWork,
} from "#core"
import { OperationTools, PipelineSource } from "#core/engine"
import { Datasets } from "../../data/datasets/index.ts"
import { ApiKeys, type Author } from "../../platform/organizations/index.ts"
import { Models } from "../models/index.ts"
import { heartbeatKinds, heartbeatRoles, heartbeatStates, runStates } from "./collections.ts"
import { requireFitting, requireRoom } from "./fitting.ts"
import { changesActing, madeBy } from "./makers.ts"
import { beatAt, nextRun } from "./next-run.ts"
import { isTimeZone } from "./zoned-time.ts"

/** Operator settings of heartbeats. */
export const HeartbeatSettings = z.strictObject({
  runs_days: z.int().min(1).max(3_650).default(30).describe("Days that the record of a run is kept."),
  max_per_organization: z.int().min(1).max(10_000).default(1_000).describe("Heartbeats that an organization may have."),
  slots: z.int().min(1).max(256).default(8).describe("Runs at once on a node; organizations take turns."),
  max_calls_per_turn: z
    .int()
    .min(1)
    .max(50)
    .default(20)
    .describe("Calls of tools in one turn of a model. Further calls of the turn are refused."),
  run_timeout_ms: z.int().min(10_000).max(3_600_000).default(600_000).describe("Time limit of one run."),
})

export type HeartbeatSettings = z.output<typeof HeartbeatSettings>

/** Limit of heartbeats per organization. */
export const HeartbeatLimit = token<number>("heartbeat limit")

const WindowTime = z
  .string()
  .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d)?$/, "a time of day as HH:MM, or nothing")
  .describe("HH:MM in the time zone; both ends empty: the whole day. A window whose end is before its start crosses midnight.")

/** Fields of the service. */
interface Hidden {
  /** Null while paused. */
  next_run_at: string | null
  /** Local time of the next run if clocks skip it on that day: milliseconds as if the zone were UTC. */
  next_wall?: number | null
  /** Job of the next run. Other beats are stale. */
  beat_id: string | null
  /** The author of the last change to its work. The heartbeat acts with this author's rights. Absent in older heartbeats. */
  made_by?: Author | null
  /** Authors of its work. */
  authors?: Author[]
  /** The current run. A heartbeat has one run at a time. */
  current_run_id: string | null
  latest_run_id: string | null
  latest_run_at: string | null
  /** The result of the last success. Input of the next run. */
  previous: Json
}

const fields = {
  name: Name,
  kind: z.enum(heartbeatKinds),
  state: z.enum(heartbeatStates),
  description: z.string().trim().max(4_000),
  interval_minutes: z
    .int()
    .min(1)
    .max(44_640)
    .describe("Minutes between runs, within the window. Whole days go by the calendar, so that a daily run keeps its time of day."),
  active_days: z
    .array(z.int().min(1).max(7))
    .min(1)
    .max(7)
    .refine((days) => new Set(days).size === days.length, "each day once")
    .describe("1 is Monday, 7 is Sunday; a window belongs to the day on which it begins."),
  active_window_start: WindowTime,
  active_window_end: WindowTime,
  timezone: z.string().max(100).refine(isTimeZone, "expected an IANA time zone, such as Europe/Berlin or UTC").describe("IANA time zone."),
  script_js: z
    .string()
    .max(65_536)
    .describe(
      "Of kind `script`: `function script(input)`, with `now`, `previous` (what the last run returned), `datasets` (rows by slug), `heartbeat` and `run_id`. Returns an event, or null for none.",
    ),
  datasets: z
    .array(
      z.strictObject({
        slug: Slug,
        filter: z.string().max(10_000).default("").describe("As rows are listed by."),
        limit: z.int().min(1).max(1_000).default(100).describe("The newest so many."),
      }),
    )
    .max(5)
    .describe("Rows that the script is given."),
  pipeline_slug: z.union([Slug, z.literal("")]).describe("Internal pipeline that gets the result of the script. Empty: no pipeline."),
  instructions: z.string().trim().max(20_000).describe("Of kind `instructions`: what a model is to do."),
  model: z.string().trim().max(200).describe("Name of a configured model; empty: the one for agents."),
  role: z.enum(heartbeatRoles).describe("What the model's calls may do; at most the maker's own."),
  tools: z
    .array(z.string().max(100))
    .max(20)
    .refine((names) => new Set(names).size === names.length, "each operation once")
    .describe("Operations that the model may call, by name (`datasets.list_rows`), as MCP offers them."),
  max_steps: z.int().min(1).max(50).describe("Turns of the model in one run."),
  budget_millicents: z.int().min(1).max(10_000_000).describe("Most cost of a run. The turn that passes it is the last."),
}

export type HeartbeatFields = z.output<z.ZodObject<typeof fields>>

const whenFields = ["interval_minutes", "active_days", "active_window_start", "active_window_end", "timezone"] as const
const script_js = "function script(input) { return { at: input.now } }"

export const HeartbeatResource = defineResource<Hidden>()({
  name: "heartbeat",
  plural: "heartbeats",
  title: "Heartbeat",
  path: "/v1/heartbeats",
  collection: {
    name: "heartbeats",
    times: ["next_run_at", "latest_run_at"],
    indexes: [{ fields: ["state", "id"] }, { fields: ["kind", "id"] }, { fields: ["state", "kind", "id"] }],
  },
  access: { read: { scope: "heartbeats:read", role: "member" }, write: { scope: "heartbeats:write", role: "member" } },
  key: byId,
  fields,
  fixed: ["kind", "state"],
  defaults: {
    ...{ state: "active", description: "", timezone: "UTC" },
    ...{ active_days: [1, 2, 3, 4, 5, 6, 7], active_window_start: "", active_window_end: "" },
    ...{ script_js: "", datasets: [], pipeline_slug: "", instructions: "", model: "" },
    ...{ role: "guest", tools: [], max_steps: 8, budget_millicents: 10_000 },
  },
  shown: {
    next_run_at: z.string().describe("RFC 3339; empty while it is paused."),
    latest_status: z.enum(["", ...runStates]).describe("Of the latest run; empty before the first."),
    latest_reason: z.string().describe("Why the latest run failed; empty otherwise."),
    latest_run_id: z.string().describe("Empty before the first."),
    failures: z.int().describe("Failed runs since the last success. Five in a row pause it."),
    paused_reason: z.string().describe("Why the service paused it; empty otherwise."),
  },
  hidden: ["next_wall", "beat_id", "made_by", "authors", "current_run_id", "latest_run_at", "previous"],
  present: ({ next_run_at, latest_run_id }) => ({ next_run_at: next_run_at ?? "", latest_run_id: latest_run_id ?? "" }),
  list: {
    isWhole: true,
    filters: {
      state: z
        .enum(["", ...heartbeatStates])
        .default("")
        .describe("Only those in this state."),
      kind: z
        .enum(["", ...heartbeatKinds])
        .default("")
        .describe("Only those of this kind."),
    },
  },
  columns: ["name", "kind", "state", "latest_status", "next_run_at"],
  examples: [
    { input: { name: "Count", kind: "script", interval_minutes: 60, script_js, active_days: [1, 2, 3, 4, 5], timezone: "Europe/Berlin" } },
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
  change: { interval_minutes: 30, active_days: [1, 2, 3] },
  verbs: {
    create: {
      summary: "Make a heartbeat: work that is done again and again, by a script or by a model.",
      description:
        "The first run is an interval from now, or when the window opens. One of several nodes runs it. Missed runs become one run. A heartbeat has the rights of its maker at most.",
      hints: { openWorld: "by_job" },
      errors: ["not_found", "failed_precondition", "permission_denied", "resource_exhausted", "unavailable"],
    },
    list: { mcp: { listed: true } },
    update: {
      description: "Takes back what a read answered. New times count from now. The caller needs the rights of the changed heartbeat.",
      errors: ["failed_precondition", "permission_denied", "unavailable"],
    },
    delete: { summary: "Delete a heartbeat; the records of its runs go when they expire." },
  },
  inject: {
    scripts: Scripts,
    datasets: Datasets,
    source: PipelineSource,
    tools: OperationTools,
    models: Models,
    keys: ApiKeys,
    queue: JobQueue,
    limit: HeartbeatLimit,
  },
  async check(fields, { before, caller, organization, deps }) {
    await requireFitting(deps, caller, fields)
    const { store, limit } = deps
    if (before === undefined)
      await requireRoom((most) => store.open(HeartbeatResource.collection, organization).count({}, { limit: most }), limit)
  },
  start: async (fields, args) => ({
    ...firstBeat(fields, args),
    ...(await madeBy(args.deps.keys, args.caller)),
    ...{ current_run_id: null, latest_run_id: null, latest_run_at: null, latest_status: "" as const, latest_reason: "", paused_reason: "" },
    ...{ failures: 0, previous: null },
  }),
  async alongside(change, before, { work, organization, caller, deps }) {
    const isTimed = whenFields.some((field) => change[field] !== undefined) && before.state === "active"
    const next = () => nextRun({ ...before, ...change }, deps.clock.now())
    return {
      ...(changesActing(change) ? await madeBy(deps.keys, caller, before) : {}),
      ...(isTimed ? beatAt(work, organization, deps, before.id, next()) : {}),
    }
  },
  restored: async (heartbeat, args) => ({
    ...firstBeat(heartbeat, args),
    ...(await madeBy(args.deps.keys, args.caller, heartbeat)),
    current_run_id: null,
  }),
  updated({ script_js: script, id }, before, { work, deps }) {
    if (script !== before.script_js) work.afterCommit(() => deps.scripts.forget(id))
  },
  deleted: ({ id }, { work, deps }) => work.afterCommit(() => deps.scripts.forget(id)),
})

export type StoredHeartbeat = ItemOf<typeof HeartbeatResource>

interface Beating {
  readonly work: UnitOfWork
  readonly organization: string
  readonly deps: { readonly queue: JobQueue; readonly ids: Ids; readonly clock: Clock }
}

/** Stages the first beat of an active heartbeat, and returns its fields. */
function firstBeat(heartbeat: HeartbeatFields & { readonly id: string }, { work, organization, deps }: Beating) {
  if (heartbeat.state === "paused") return { next_run_at: null, beat_id: null }
  return beatAt(work, organization, deps, heartbeat.id, nextRun(heartbeat, deps.clock.now()))
}
