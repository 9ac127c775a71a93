// What comes in: events by minute and status, how long they take, and which pipelines they are of.
import { z } from "zod"
import { defineOperation, SlugOrId, Store, Timestamp, timestamp } from "#core"
import { addMinute, emptyMinute, latencyAt, type MinuteCounts } from "../activity/counts.ts"
import { EventActivity } from "../activity/service.ts"
import { Pipelines } from "../collections.ts"
import { EventPipelinesService } from "../pipelines.ts"
import { madePipeline } from "./examples.ts"

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
  examples: [madePipeline],
  inject: { activity: EventActivity, pipelines: EventPipelinesService, store: Store },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const only = input.slug === undefined ? undefined : await deps.pipelines.get(organization, input.slug)
    const { now, counted } = await deps.activity.of(organization, input.minutes)
    const own = only ? counted.map((one) => ofPipeline(one, only.id)) : counted
    const byMinute = new Map(own.map((one) => [one.minute, one]))
    const sum = own.reduce<MinuteCounts>(addMinute, emptyMinute(now))
    const lastOf = new Map<string, number>()
    for (const { minute, pipelines } of own) for (const id of Object.keys(pipelines)) lastOf.set(id, minute)
    const records = await deps.store.open(Pipelines, organization).find({ id: { $in: [...lastOf.keys()] } }, { limit: 10_000 })
    const pipelines = records.map(({ id, slug }) => ({
      id,
      slug,
      ...named(sum.pipelines[id] ?? []),
      last_at: timestamp((lastOf.get(id) ?? now) * 60_000),
    }))
    const ofAll = counted.map(({ latencies }) => ({ ...emptyMinute(now), latencies }))
    const { latencies: all } = only ? ofAll.reduce<MinuteCounts>(addMinute, emptyMinute(now)) : sum
    return {
      ...countsOf(sum),
      minutes: Array.from({ length: input.minutes }, (_, at) => {
        const minute = now - input.minutes + 1 + at
        return { at: timestamp(minute * 60_000), ...countsOf(byMinute.get(minute) ?? emptyMinute(minute)) }
      }),
      latency: { p50_ms: latencyAt(all, 0.5), p95_ms: latencyAt(all, 0.95), p99_ms: latencyAt(all, 0.99) },
      pipelines: pipelines.sort((one, other) => total(other) - total(one)),
    }
  },
})

function countsOf({ accepted, rejected, failed }: MinuteCounts) {
  return { accepted, rejected, failed }
}

function named([accepted = 0, rejected = 0, failed = 0]: readonly number[]) {
  return { accepted, rejected, failed }
}

function total({ accepted, rejected, failed }: { accepted: number; rejected: number; failed: number }): number {
  return accepted + rejected + failed
}

function ofPipeline({ minute, pipelines }: MinuteCounts, id: string): MinuteCounts {
  const counts = pipelines[id]
  return { ...emptyMinute(minute), ...named(counts ?? []), pipelines: counts ? { [id]: counts } : {} }
}
