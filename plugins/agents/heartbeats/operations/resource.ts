// Heartbeats and their runs as callers see them (specification 2.7), and the fields that inputs share.
import { z } from "zod"
import { AnyJson, LogLines, Name, Slug, Timestamp, Uuid } from "#core"
import { heartbeatKinds, heartbeatRoles, heartbeatStates, runStates, type StoredHeartbeat, type StoredRun } from "../collections.ts"
import { isTimeZone } from "../zoned-time.ts"

const WindowTime = z
  .string()
  .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d)?$/, "a time of day as HH:MM, or nothing")
  .describe("HH:MM in the time zone; both ends empty: the whole day. A window whose end is before its start crosses midnight.")

export const heartbeatFields = {
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
  pipeline_slug: z.union([Slug, z.literal("")]).describe("Internal pipeline that gets what the script returns; empty: none does."),
  instructions: z.string().trim().max(20_000).describe("Of kind `instructions`: what a model is to do."),
  model: z.string().trim().max(200).describe("Name of a configured model; empty: the one for agents."),
  role: z.enum(heartbeatRoles).describe("What the model's calls may do; at most the maker's own."),
  tools: z
    .array(z.string().max(100))
    .max(20)
    .refine((names) => new Set(names).size === names.length, "each operation once")
    .describe("Operations that the model may call, by name (`datasets.list_rows`), as MCP offers them."),
  max_steps: z.int().min(1).max(50).describe("Turns of the model in one run."),
  budget_millicents: z.int().min(1).max(10_000_000).describe("What one run may cost; the turn that passes it is the last."),
}

export const HeartbeatResource = z
  .object({
    active_days: z.array(z.int()),
    active_window_end: z.string(),
    active_window_start: z.string(),
    created_at: Timestamp,
    description: z.string(),
    id: Uuid,
    instructions: z.string(),
    interval_minutes: z.int(),
    kind: z.enum(heartbeatKinds),
    latest_status: z.enum(["", ...runStates]).describe("Of the latest run; empty before the first."),
    name: z.string(),
    next_run_at: z.string().describe("RFC 3339; empty while it is paused."),
    script_js: z.string(),
    state: z.enum(heartbeatStates),
    timezone: z.string(),
    datasets: z.array(z.object({ slug: z.string(), filter: z.string(), limit: z.int() })),
    pipeline_slug: z.string(),
    model: z.string(),
    role: z.enum(heartbeatRoles),
    tools: z.array(z.string()),
    max_steps: z.int(),
    budget_millicents: z.int(),
    latest_reason: z.string().describe("Why the latest run failed; empty otherwise."),
    latest_run_id: z.string().describe("Empty before the first."),
    failures: z.int().describe("Runs that failed since the last that succeeded; five in a row pause it."),
    paused_reason: z.string().describe("Why the service paused it; empty otherwise."),
    updated_at: Timestamp,
    revision: z.int(),
  })
  .meta({ id: "Heartbeat" })

/** Shown by a read; taken back by an update as they were. */
export const readOnlyHeartbeatFields = [
  ...(["id", "kind", "state", "created_at", "updated_at", "revision", "next_run_at"] as const),
  ...(["latest_status", "latest_reason", "latest_run_id", "failures", "paused_reason"] as const),
] as const

export function shownHeartbeat(stored: StoredHeartbeat): z.input<typeof HeartbeatResource> {
  const {
    organization_id: _organization,
    beat_id: _beat,
    made_by: _maker,
    authors: _authors,
    current_run_id: _current,
    latest_run_at: _at,
    previous: _previous,
    ...shown
  } = stored
  return { ...shown, next_run_at: stored.next_run_at ?? "", latest_run_id: stored.latest_run_id ?? "" }
}

export const RunResource = z
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
    result: AnyJson.describe("What the script returned, or what the model said at the end."),
    logs: LogLines,
    execution_id: z.string().describe("Execution of the event that the result became; empty where there is none."),
    steps: z
      .array(z.object({ tool: z.string(), input: AnyJson, ok: z.boolean().nullable(), answer: z.string() }))
      .describe("Calls of tools; `ok` is null where the run ended before the answer came."),
    cost_millicents: z.number(),
  })
  .meta({ id: "HeartbeatRun" })

export function shownRun(run: StoredRun): z.input<typeof RunResource> {
  const { id, heartbeat_id, cause, state: status, due_at, reason, message, result, logs = [], steps, cost_millicents } = run
  const { started_at, finished_at, execution_id } = run
  return {
    ...{ id, heartbeat_id, cause, status, due_at, reason, message, result, logs, steps, cost_millicents },
    ...{ started_at: started_at ?? "", finished_at: finished_at ?? "", execution_id: execution_id ?? "" },
  }
}

/** A heartbeat that examples act on. */
export const madeHeartbeat = {
  heartbeat: {
    operation: "heartbeats.create",
    input: { name: "Count", kind: "script", interval_minutes: 60, script_js: "function script(input) { return { at: input.now } }" },
  },
}

export const HeartbeatId = Uuid.describe("The heartbeat's id.")
export const HeartbeatName = Name
