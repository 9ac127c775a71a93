// Counters and histograms, by prom-client; declared where they are counted, shown at GET /metrics.
import type { Registry as MetricsRegistry } from "prom-client"
import { token } from "../kernel/di.ts"

/** The registry of the service's metrics, as prom-client has it. */
export type Metrics = MetricsRegistry

export const Metrics = token<Metrics>("Metrics")
