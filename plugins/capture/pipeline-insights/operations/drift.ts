// Reports a pipeline's schema drift, and returns the document with a fitting schema.
import { z } from "zod"
import { AnyJson, AppError, defineOperation, resultOf, SlugOrId, Timestamp, Uuid } from "#core"
import { EventPipelines, shownConfig } from "../../pipelines/index.ts"
import { learningEvents } from "../drift/findings.ts"
import { mend, SchemaDrift } from "../drift/service.ts"
import { jsonTypes, parentOf, type Sketch } from "../drift/sketch.ts"

const path = "/v1/event-pipelines/{slug}/drift"
const inject = { pipelines: EventPipelines, drift: SchemaDrift }
const JsonTypes = z.array(z.enum(jsonTypes))

const PatchOperation = z.object({ op: z.enum(["add", "replace"]), path: z.string(), value: AnyJson })

const Drift = z
  .object({
    id: z.string(),
    kind: z.enum(["new_field", "field_gone", "type_changed", "enum_grew"]),
    path: z.string().describe("JSON Pointer in the event; `*` stands for the items of an array, `?` for names that are data themselves."),
    message: z.string(),
    since: Timestamp,
    last_at: Timestamp,
    events: z.int().describe("How many events; estimated where events come so fast that some are not looked at."),
    share: z.number().describe("Of the events that have what contains it, since the comparison began; 0 to 1."),
    rejected: z.int().describe("Rejected events that it explains."),
    executions: z.array(Uuid).describe("Some of these events, in the journal as long as that keeps them."),
    types_before: JsonTypes,
    types: JsonTypes,
    new_values: z.int().describe("Of a grown enumeration: how many values are new. The values are not kept; the executions hold them."),
    patch: z
      .array(PatchOperation)
      .describe("What would take it into the document's schema: JSON Patch (RFC 6902). Empty where that is not for a schema to say."),
  })
  .meta({ id: "SchemaDrift" })

const Field = z.object({
  path: z.string(),
  types: JsonTypes,
  events: z.int(),
  share: z.number().describe("Of the events that have what contains it."),
  last_at: Timestamp,
})

export const getDrift = defineOperation({
  name: "event_pipelines.drift",
  summary:
    "Report how a pipeline's events differ from its schema and from its events before: fields new and gone, other types, grown enumerations.",
  description: [
    "From sketches of live events that verified: names, types and counts, no values. Tests, replays and repeats do not count. A changed document begins a new comparison, with the events before as its baseline; the first " +
      `${learningEvents} events of a pipeline are a baseline of their own.`,
    "Sketches are bounded; `truncated` says that a bound was met, so that something may be missing here. Found differences are told on the live channel `schema_drift`.",
  ].join("\n\n"),
  http: { method: "GET", path },
  access: { scope: "event_pipelines:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ slug: SlugOrId }),
  output: z.object({
    pipeline: z.string(),
    revision: z.int(),
    since: Timestamp.nullable().describe("First event of the comparison; null before it."),
    last_at: Timestamp.nullable(),
    events: z.int().describe("Events since then."),
    rejected: z.int().describe("Those that were rejected for their shape."),
    sampled: z.int().describe("Those that were looked at."),
    baseline_events: z.int().describe("Events of the baseline."),
    learning: z.boolean().describe("Whether too few events came for anything to be called new."),
    truncated: z.boolean(),
    drift: z.array(Drift).describe("Those that explain most rejected events first."),
    fields: z.array(Field).describe("What events hold since the comparison began."),
  }),
  errors: ["not_found"],
  examples: [{ given: { pipeline: "event_pipelines.create" }, input: { slug: resultOf("pipeline.slug") } }],
  inject,
  async handle({ input, caller, deps }) {
    const record = await deps.pipelines.get(caller.organization.id, input.slug)
    const { baseline, current, drift } = await deps.drift.of(caller.organization.id, record)
    const { events, rejected, sampled } = current
    const baseline_events = baseline?.events ?? 0
    return {
      pipeline: record.slug,
      revision: record.revision,
      since: current.first_at || null,
      last_at: current.last_at || null,
      events,
      rejected,
      sampled,
      baseline_events,
      learning: baseline_events + events <= learningEvents,
      truncated: current.truncated || baseline?.truncated === true,
      drift: drift.map((one) => ({
        ...one,
        executions: [...one.executions],
        types_before: [...one.types_before],
        types: [...one.types],
        patch: [...one.patch],
      })),
      fields: fieldsOf(current),
    }
  },
})

function fieldsOf({ paths, events }: Sketch) {
  const seen = new Map(paths.map((one) => [one.path, one.seen.events]))
  return paths
    .filter(({ path }) => path !== "")
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map((one) => {
      const container = seen.get(parentOf(one.path)) ?? events
      const share = container === 0 ? 0 : Math.round((10_000 * one.seen.events) / container) / 10_000
      return {
        path: one.path,
        types: one.types.map(({ type }) => type),
        events: one.seen.events,
        share: Math.min(1, share),
        last_at: one.seen.last_at,
      }
    })
}

export const patchDrift = defineOperation({
  name: "event_pipelines.patch_drift",
  summary: "Give the pipeline's document with a schema that takes in its drift, to be planned and applied; nothing is changed.",
  description: "The answer's `document` and `path` are what `plan` and `apply` take as one of their `documents`.",
  http: { method: "POST", path: `${path}/patch` },
  access: { scope: "event_pipelines:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    slug: SlugOrId,
    ids: z
      .array(z.string().max(64))
      .min(1)
      .max(100)
      .optional()
      .describe("Differences to take in, as the report names them. Default: all that a schema can take in."),
  }),
  output: z.object({
    path: z.string(),
    document: z.record(z.string(), AnyJson),
    patch: z.array(PatchOperation),
    taken: z.array(z.string()).describe("Ids of the differences that the document takes in."),
    left: z.array(z.string()).describe("Ids of those that no change of the schema takes in."),
  }),
  errors: ["not_found", "failed_precondition"],
  examples: [
    {
      given: {
        pipeline: {
          operation: "event_pipelines.create",
          input: {
            name: "Orders of the shop",
            state: "active",
            request_schema: { type: "object", properties: { total: { type: "integer" } }, additionalProperties: false },
          },
        },
        event: {
          operation: "event_pipelines.send_event",
          input: { slug: resultOf("pipeline.slug"), payload: { total: 12, coupon: "WELCOME" } },
        },
      },
      input: { slug: resultOf("pipeline.slug") },
    },
  ],
  inject,
  async handle({ input, caller, deps }) {
    const record = await deps.pipelines.get(caller.organization.id, input.slug)
    const { drift } = await deps.drift.of(caller.organization.id, record)
    const unknown = input.ids?.find((id) => !drift.some((one) => one.id === id))
    if (unknown !== undefined)
      throw new AppError("not_found", `The drift of "${record.slug}" has no difference "${unknown}" (any more).`, {
        reason: "drift_not_found",
      })
    const asked = drift.filter(({ id }) => !input.ids || input.ids.includes(id))
    const { document, patch } = mend(record.document, asked)
    if (patch.length === 0) {
      const message = `No change of the schema of "${record.slug}" takes in ${asked.length === 0 ? "anything: its events have not drifted" : "these differences"}.`
      throw new AppError("failed_precondition", message, { reason: "nothing_to_patch" })
    }
    const taken = asked.filter((one) => one.patch.length > 0).map(({ id }) => id)
    return {
      path: record.file?.path ?? `pipelines/${record.slug}.yaml`,
      document: { ...document, slug: record.slug, auth_config: shownConfig({ document, secrets: [] }) } as never,
      patch,
      taken,
      left: asked.filter(({ id }) => !taken.includes(id)).map(({ id }) => id),
    }
  },
})
