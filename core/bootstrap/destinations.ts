// Provides the calls to other systems by destination, with their metrics.
import { Counter, Gauge } from "prom-client"
import { Metrics } from "../contract/metrics.ts"
import { Clock } from "../kernel/clock.ts"
import { type DestinationState, Destinations, WatchedDestinations } from "../kernel/destinations.ts"
import type { Container } from "../kernel/di.ts"
import { Log } from "../kernel/log.ts"

/** Maximum number of organizations named in metrics. The others count as "other". */
const maxNamed = 10

export function provideDestinations(container: Container): void {
  container.provide(Destinations, {
    inject: { clock: Clock, log: Log, metrics: Metrics },
    create({ metrics, ...deps }) {
      const changes = new Counter({
        name: "millrace_breaker_changes_total",
        help: "Circuit breakers of destinations: opened, closed, and calls that they refused.",
        labelNames: ["kind", "what"],
        registers: [metrics],
      })
      const destinations = new WatchedDestinations({ ...deps, observe: (what, kind) => changes.inc({ kind, what }) })
      gauge(
        metrics,
        "millrace_breakers_open",
        "Destinations whose calls are paused because they did not answer, by organization.",
        () => destinations.states().filter(({ isPaused }) => isPaused),
        (value) => value + 1,
      )
      gauge(
        metrics,
        "millrace_destination_silent_seconds",
        "Age of the oldest call that its destination has not answered, by organization.",
        () => destinations.states(),
        (value, { silentMs }) => Math.max(value, silentMs / 1_000),
      )
      return destinations
    },
  })
}

function gauge(
  metrics: Metrics,
  name: string,
  help: string,
  states: () => readonly DestinationState[],
  merge: (value: number, state: DestinationState) => number,
): void {
  new Gauge({
    name,
    help,
    labelNames: ["kind", "organization"],
    registers: [metrics],
    collect() {
      this.reset()
      const values = new Map<string, { kind: string; organization: string; value: number }>()
      const byAge = [...states()].sort((a, b) => b.silentMs - a.silentMs)
      const named = new Set([...new Set(byAge.map(({ organization }) => organization))].slice(0, maxNamed))
      for (const state of byAge) {
        const organization = named.has(state.organization) ? state.organization : "other"
        const labels = { kind: state.kind, organization }
        const key = Object.values(labels).join(" ")
        values.set(key, { ...labels, value: merge(values.get(key)?.value ?? 0, state) })
      }
      for (const { value, ...labels } of values.values()) this.set(labels, value)
    },
  })
}
