// What the engine counts, for GET /metrics: events by outcome, time by stage, events under way.
import { Counter, Gauge, Histogram } from "prom-client"
import type { Metrics } from "../contract/metrics.ts"

export function meters(metrics: Metrics) {
  const events = new Counter({
    name: "millrace_events_total",
    help: "Inbound events by status and cause.",
    labelNames: ["status", "cause"],
    registers: [metrics],
  })
  const unknown = new Counter({
    name: "millrace_events_unknown_total",
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
  // Looked up by label once: the library's own look-up costs more than the counting.
  const byStage = new Map<string, { observe(seconds: number): void }>()
  const byOutcome = new Map<string, { inc(): void }>()
  return {
    countUnknown: () => unknown.inc(),
    observe: (status: string, cause: string, timings: Record<string, number>) => {
      remembered(byOutcome, `${status} ${cause}`, () => events.labels({ status, cause })).inc()
      for (const stage in timings) remembered(byStage, stage, () => stages.labels({ stage })).observe((timings[stage] ?? 0) / 1_000)
    },
    inFlight: (count: () => number) =>
      new Gauge({
        name: "millrace_events_in_flight",
        help: "Inbound events under way.",
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
