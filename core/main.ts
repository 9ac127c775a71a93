// Starts the service in this process or as several workers, prints instructions, and handles signals.

import { Session } from "node:inspector"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { isEmbedded } from "./bootstrap/embedded.ts"
import { frameworkRoot } from "./bootstrap/plugins.ts"
import { handleProcessFaults } from "./bootstrap/process-faults.ts"
import { Primary } from "./cluster/primary.ts"
import { supervisedPlace } from "./cluster/supervised.ts"
import { type WorkerPlace, workerPlace } from "./cluster/worker.ts"
import { systemClock } from "./kernel/clock.ts"
import { BootError, type CoreConfig, loadConfig } from "./kernel/config.ts"
import { createLog, type Logger, logDestination } from "./kernel/log.ts"

interface Service {
  readonly log: Logger
  readonly listening: { readonly greetings: readonly string[] }
  start(): Promise<void>
  stop(): Promise<void>
  /** Ends child processes that would otherwise outlive this process. */
  kill?(): void
}

/** Time for closing a worker. It follows one drain time for requests and one for jobs. */
const closingMs = 5_000

async function main(): Promise<void> {
  collectSeldom()
  const worker = workerPlace()
  const supervised = worker ? undefined : supervisedPlace()
  let service: Service | undefined
  // A stop during the build finds no service yet.
  worker?.onStop(() => (service ? stop(service) : process.exit(0)))
  supervised?.onStop((signal) => {
    service?.log.info({ signal }, "stopping")
    if (service) stop(service)
    else process.exit(0)
  })
  const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), project: process.cwd(), env: process.env })
  const log = createLog(config.log.level, logDestination(config.log.format))
  service = worker || config.workers === 1 ? await node({ config, log }, worker) : primary({ config, log })
  stopOnSignals(service, worker !== undefined || supervised !== undefined)
  handleProcessFaults(service)
  await service.start()
  worker?.listens()
  supervised?.listens()
  // A replacement worker prints no greetings.
  if (!worker || worker.number === 1) for (const greeting of service.listening.greetings) console.log(greeting)
  collectAll()
}

interface ServiceArgs {
  readonly config: CoreConfig
  readonly log: Logger
}

function primary({ config, log }: ServiceArgs): Service {
  if (isEmbedded(config)) {
    throw new BootError([
      `workers is ${config.workers}, and the embedded SQLite file is for one process: a second one makes it slower. Set MILLRACE_WORKERS to 1, or MILLRACE_STORAGE_URL to a MongoDB replica set.`,
    ])
  }
  return new Primary({
    workers: config.workers,
    clock: systemClock,
    log,
    stopWithinMs: config.server.leave_ms + 2 * config.server.drain_ms + closingMs,
  })
}

async function node({ config, log }: ServiceArgs, worker: WorkerPlace | undefined): Promise<Service> {
  const { buildRuntime } = await import("./bootstrap/runtime.ts")
  if (!worker) return buildRuntime({ config, log })
  // One worker is enough to watch the files.
  const watch = config.pipelines.watch && worker.number === 1
  const own = { ...config, pipelines: { ...config.pipelines, watch } }
  return buildRuntime({ config: own, log: log.child({ worker: worker.number }), worker })
}

function stopOnSignals(service: Service, hasParent: boolean): void {
  let asked = false
  const onSignal = (signal: NodeJS.Signals) => {
    // A second signal means that the operator does not want to wait. A child may receive signals from its parent and from the
    // system.
    if (asked && !hasParent) {
      service.kill?.()
      process.exit(1)
    }
    asked = true
    service.log.info({ signal }, "stopping")
    stop(service)
  }
  process.on("SIGTERM", onSignal)
  // A terminal sends the signal to all processes at once. The parent then sends the stop.
  process.on("SIGINT", hasParent ? () => undefined : onSignal)
}

const stopping = new WeakSet<Service>()

function stop(service: Service): void {
  if (stopping.has(service)) return
  stopping.add(service)
  service.stop().then(
    () => process.exit(0),
    (error: unknown) => {
      service.log.error({ err: error }, "could not stop cleanly")
      process.exit(1)
    },
  )
}

main().catch((error: unknown) => {
  console.error(`Millrace cannot start. ${error instanceof Error ? error.message : String(error)}`)
  // Expected errors explain themselves in the message. The stack helps with the others.
  if (/^(debug|trace)$/.test(process.env["MILLRACE_LOG_LEVEL"] ?? "")) console.error(error)
  process.exit(1)
})

// Tunes V8's garbage collection. V8 prefers throughput and a small heap. A service needs short pauses and should return the
// memory of its start.

/**
 * Lets the old generation of each thread grow to twice its size after the last collection. A collection is cheap for a heap of 70
 * MB, so V8 would run one for each 10 MB. Each delays events for some 60 ms on two cores.
 */
function collectSeldom(): void {
  setFlagsFromString("--heap-growing-percent=100")
}

/**
 * Collects all garbage of this thread's heap soon and at once, in some 150 ms. The start of a service leaves 90 MB of unused
 * young generation. V8 returns memory when idle, but only after a full collection has measured the used memory. A service at rest
 * would never reach one.
 */
function collectAll(): void {
  const session = new Session()
  session.connect()
  // Not inside the callback: ending the session there would wait for a lock of the callback.
  session.post("HeapProfiler.collectGarbage", () => setImmediate(() => session.disconnect()))
}
