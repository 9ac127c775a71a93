// Event counts by minute and status, with latencies and pipelines.
import { z } from "zod"
import { defineOperation, resultOf, SlugOrId, Timestamp, timestamp } from "#core"
import { EventPipelines, PipelineSlugs } from "../../pipelines/index.ts"
import { type Counts, latencyAt, none, sumOf } from "../activity/counts.ts"
import { EventActivity } from "../activity/service.ts"

const Count = z.int().min(0)
const Counted = { accepted: Count, rejected: Count, failed: Count }
const Quantile = z.number().nullable().describe("Milliseconds, within a fifth; null without events.")

export const getActivity = defineOperation({
  name: "event_pipelines.activity",
  summary: "Count events by minute and status, with latencies and the pipelines that they are of.",
  description:
    "Tests and replays do not count. Every node writes its counts every five seconds, so that those of other nodes may be that old; a crash loses as much. A latency is the time from an event's receipt to its answer. Counts are kept for a day.",
  http: { method: "GET", path: "/v1/event-activity" },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    minutes: z.coerce.number().int().min(1).max(1_440).default(60).describe("How far back; the present minute is the last."),
    slug: SlugOrId.optional().describe("One pipeline alone; latencies are of all."),
  }),
  output: z.object({
    ...Counted,
    minutes: z.array(z.object({ at: Timestamp, ...Counted })).describe("Every minute, the oldest first."),
    latency: z.object({ p50_ms: Quantile, p95_ms: Quantile, p99_ms: Quantile }),
    pipelines: z
      .array(z.object({ id: z.string(), slug: z.string(), ...Counted, last_at: Timestamp.describe("Minute of its last event.") }))
      .describe("Those that had events, the busiest first."),
  }),
  errors: ["not_found"],
  examples: [{ given: { pipeline: "event_pipelines.create" }, input: { slug: resultOf("pipeline.slug") } }],
  inject: { activity: EventActivity, pipelines: EventPipelines, slugs: PipelineSlugs },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const only = input.slug === undefined ? undefined : await deps.pipelines.get(organization, input.slug)
    const { now, byMinute, latencies, pipelines } = await deps.activity.of(organization, input.minutes, only?.id)
    const slugs = await deps.slugs.of(organization)
    const all = [...byMinute.values()].reduce(sumOf, none)
    const shown = [...pipelines].flatMap(([id, [last, counts]]) => {
      const slug = slugs.get(id)
      return slug === undefined
        ? []
        : { id, slug, ...named(counts), last_at: timestamp(last * 60_000), sum: counts[0] + counts[1] + counts[2] }
    })
    return {
      ...named(all),
      minutes: Array.from({ length: input.minutes }, (_, at) => {
        const minute = now - input.minutes + 1 + at
        return { at: timestamp(minute * 60_000), ...named(byMinute.get(minute) ?? none) }
      }),
      latency: { p50_ms: latencyAt(latencies, 0.5), p95_ms: latencyAt(latencies, 0.95), p99_ms: latencyAt(latencies, 0.99) },
      pipelines: shown.sort((one, other) => other.sum - one.sum).map(({ sum: _, ...pipeline }) => pipeline),
    }
  },
})

function named([accepted, rejected, failed]: Counts) {
  return { accepted, rejected, failed }
}
