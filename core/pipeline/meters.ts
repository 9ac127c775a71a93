// Engine metrics for GET /metrics: events by outcome, time by stage and events in flight.
import { Counter, Gauge, Histogram } from "prom-client"
import type { Metrics } from "../contract/metrics.ts"
import type { JournalEntry } from "./journal/entry.ts"

/** Bounds the number of time series. Each pipeline has a series for each cause. */
const maxPipelines = 200

export function meters(metrics: Metrics) {
  const events = new Counter({
    name: "millrace_events_total",
    help: `Inbound events by status, cause and pipeline id. Beyond ${maxPipelines} pipelines the label is "other".`,
    labelNames: ["status", "cause", "pipeline"],
    registers: [metrics],
  })
  const unserved = new Counter({
    name: "millrace_inbound_errors_total",
    help: "Requests to endpoints that the service could not serve and answered 503 or 500, by reason.",
    labelNames: ["reason"],
    registers: [metrics],
  })
  const unknown = new Counter({
    name: "millrace_inbound_not_found_total",
    help: "Requests to endpoints without an active pipeline.",
    registers: [metrics],
  })
  const stages = new Histogram({
    name: "millrace_event_stage_seconds",
    help: "Time an event spends in each stage.",
    labelNames: ["stage"],
    buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
    registers: [metrics],
  })
  // Caches the series by label, because the look-up in the library costs more than the count.
  const byStage = new Map<string, { observe(seconds: number): void }>()
  const byPipeline = new Map<string, Map<string, { inc(): void }>>()
  const outcomesOf = (pipeline: string) => {
    const known = byPipeline.get(pipeline)
    if (known) return known
    const label = byPipeline.size < maxPipelines ? pipeline : "other"
    return remembered(byPipeline, label, () => new Map())
  }
  const countEvent = (status: string, cause: string, pipeline: string) => {
    const outcomes = outcomesOf(pipeline)
    const label = byPipeline.has(pipeline) ? pipeline : "other"
    remembered(outcomes, cause === "" ? status : `${status} ${cause}`, () => events.labels({ status, cause, pipeline: label })).inc()
  }
  return {
    countUnknown: () => unknown.inc(),
    countUnserved: (reason: string) => unserved.labels({ reason }).inc(),
    observe: ({ status, cause, pipeline_id, timings }: Pick<JournalEntry, "status" | "cause" | "pipeline_id" | "timings">) => {
      countEvent(status, cause, pipeline_id)
      for (const stage in timings) remembered(byStage, stage, () => stages.labels({ stage })).observe((timings[stage] ?? 0) / 1_000)
    },
    inFlight: (count: () => number) =>
      new Gauge({
        name: "millrace_events_in_flight",
        help: "Inbound events in flight.",
        registers: [metrics],
        collect() {
          this.set(count())
        },
      }),
  }
}

function remembered<T>(known: Map<string, T>, name: string, make: () => T): T {
  const found = known.get(name)
  if (found !== undefined) return found
  const made = make()
  known.set(name, made)
  return made
}
