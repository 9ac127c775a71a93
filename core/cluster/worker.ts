// A worker's side of its primary (primary.ts): stops, metrics of all workers, and sockets for live sessions of other workers.
import cluster from "node:cluster"
import { join } from "node:path"
import type { MetricObjectWithValues, MetricValue, Registry } from "prom-client"
import { throwUncaught } from "../kernel/promises.ts"

export type Samples = MetricObjectWithValues<MetricValue<string>>[]

export type ToWorker =
  | { readonly kind: "stop" }
  | { readonly kind: "own_metrics"; readonly scrape: number }
  | { readonly kind: "metrics"; readonly question: number; readonly text: string }

export type ToPrimary =
  | { readonly kind: "listening" }
  | { readonly kind: "own_metrics"; readonly scrape: number; readonly samples: Samples }
  | { readonly kind: "metrics"; readonly question: number }

/** Environment variable with the folder of the workers' sockets. */
export const socketsVariable = "WORKER_SOCKETS"

/** The place of this process among several workers. */
export interface WorkerPlace {
  /** Among the workers that this primary has started, from 1. */
  readonly number: number
  /** Returns the path of a worker's socket for requests of its live sessions. */
  socketOf(number: number): string
  /** Returns the answer of a scrape: the metrics of all workers. */
  metricsOfAll(own: Registry): Pick<Registry, "metrics" | "contentType">
  /**
   * Notifies the primary that this worker serves. Call it explicitly, since the first open port may serve another protocol than
   * HTTP.
   */
  listens(): void
  /** Runs the callback when the primary asks for a stop. */
  onStop(run: () => void): void
}

/** Returns undefined if this process is not a worker. */
export function workerPlace(): WorkerPlace | undefined {
  const folder = process.env[socketsVariable]
  if (!cluster.worker || folder === undefined) return undefined
  return {
    number: cluster.worker.id,
    socketOf: (number) => join(folder, `${number}.sock`),
    metricsOfAll,
    listens: () => say({ kind: "listening" }),
    onStop: (run) => hear("stop", () => run()),
  }
}

function metricsOfAll(own: Registry): Pick<Registry, "metrics" | "contentType"> {
  const waiting = new Map<number, (text: string) => void>()
  let last = 0
  hear("own_metrics", ({ scrape }) => {
    own
      .getMetricsAsJSON()
      // The scrape then lacks this worker.
      .catch((): Samples => [])
      .then((samples) => say({ kind: "own_metrics", scrape, samples }), throwUncaught)
  })
  hear("metrics", ({ question, text }) => {
    waiting.get(question)?.(text)
    waiting.delete(question)
  })
  return {
    contentType: own.contentType,
    metrics: () =>
      new Promise((resolve) => {
        waiting.set(++last, resolve)
        say({ kind: "metrics", question: last })
      }),
  }
}

function hear<K extends ToWorker["kind"]>(kind: K, run: (message: Extract<ToWorker, { kind: K }>) => void): void {
  process.on("message", (message: ToWorker) => {
    if (message.kind === kind) run(message as Extract<ToWorker, { kind: K }>)
  })
}

/** Drops the message if the primary is gone. This process then ends. */
function say(message: ToPrimary): void {
  if (process.connected) process.send?.(message)
}
