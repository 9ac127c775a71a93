// Counters and histograms (prom-client), declared beside the code that counts. Shown at GET /metrics.
import { Gauge, type Registry as MetricsRegistry } from "prom-client"
import { token } from "../kernel/di.ts"
import type { Share } from "../kernel/fair-scheduler.ts"

/** The prom-client registry of the service. */
export type Metrics = MetricsRegistry

export const Metrics = token<Metrics>("Metrics")

// Gauges for waiters on shared resources: two gauges, labelled by resource and organization. Labels are bounded: the ten
// organizations with the longest wait are named. The others count together as "other".

const maxNamed = 10
const labelNames = ["resource", "organization"] as const
const sources = new WeakMap<Metrics, Map<string, () => readonly Share[]>>()

/** `shares` runs at each scrape and returns the longest waits first. A second call for a resource replaces the first. */
export function measureWaiting(metrics: Metrics, resource: string, shares: () => readonly Share[]): void {
  let known = sources.get(metrics)
  if (!known) {
    known = new Map()
    sources.set(metrics, known)
    register(metrics, known)
  }
  known.set(resource, shares)
}

function register(metrics: Metrics, known: ReadonlyMap<string, () => readonly Share[]>): void {
  const gauge = (name: string, help: string, value: (share: Share) => number, merge: (a: number, b: number) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [metrics],
      collect() {
        this.reset()
        for (const [resource, shares] of known) {
          const waiting = shares().filter((share) => share.waiting > 0)
          for (const share of waiting.slice(0, maxNamed)) this.set({ resource, organization: share.organization }, value(share))
          const others = waiting.slice(maxNamed)
          if (others.length > 0) this.set({ resource, organization: "other" }, others.map(value).reduce(merge))
        }
      },
    })
  gauge(
    "millrace_queue_length",
    "Items waiting in queues, by resource and organization; the ten that wait longest are named.",
    ({ waiting }) => waiting,
    (a, b) => a + b,
  )
  gauge(
    "millrace_queue_wait_seconds",
    "Seconds since an organization that is waiting last had a turn, by resource.",
    ({ waitingMs }) => waitingMs / 1_000,
    (a, b) => Math.max(a, b),
  )
}
