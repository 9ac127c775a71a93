// The composition root: plugins, storage, engine and surfaces in one container. Only this part depends on all folders of
// core. main.ts, cli.ts and testing.ts start here. All start failures are collected here in one report.
import { mkdirSync } from "node:fs"
import { collectDefaultMetrics, Registry as MetricsRegistry } from "prom-client"
import type { WorkerPlace } from "../cluster/worker.ts"
import { Metrics } from "../contract/metrics.ts"
import { Outgoing, type OutgoingCapture } from "../contract/outgoing.ts"
import { type AnyPlugin, Declarations } from "../contract/registrar.ts"
import { App } from "../kernel/app.ts"
import { Clock, systemClock } from "../kernel/clock.ts"
import { BootError, type CoreConfig, Settings } from "../kernel/config.ts"
import { Container, token } from "../kernel/di.ts"
import { Ids, timeOrderedIds } from "../kernel/ids.ts"
import { Log, type Logger } from "../kernel/log.ts"
import { MainThreadWatch } from "../kernel/main-thread.ts"
import { Registry } from "../kernel/registry.ts"
import type { Sandbox } from "../pipeline/sandbox/sandbox.ts"
import type { LiveMessageDocument } from "../surface/live/messages.ts"
import { provideDestinations } from "./destinations.ts"
import { provideRunner, provideWork } from "./engine.ts"
import { loadPlugins, registerPlugins } from "./plugins.ts"
import { provideStorage, type StoragePatience } from "./storage.ts"
import { ListeningHooks, provideCalls, provideServer } from "./surface.ts"
import { provideVault } from "./vault.ts"

const MainThread = token<MainThreadWatch>("MainThread")

export interface BuildArgs {
  readonly config: CoreConfig
  readonly log: Logger
  readonly clock?: Clock
  /** Plugins in addition to the configured ones. */
  readonly plugins?: readonly AnyPlugin[]
  /** Base folder of relative folders in the configuration, before the framework's own. */
  readonly root?: string
  readonly production?: boolean
  /** Receives outgoing mail and calls in place of other systems. */
  readonly capture?: OutgoingCapture
  /** Called for each new committed live message, in addition to its subscribers. */
  readonly onBroadcast?: (organization: string, message: LiveMessageDocument) => void
  /** Set if this process is one of several workers. */
  readonly worker?: WorkerPlace
  /** False: no HTTP server is created. */
  readonly serve?: boolean
  /** Replaces the service's own sandbox. It stops with the other services. */
  readonly sandbox?: Sandbox | undefined
  /** False: the sandbox process starts with the first program. Saves the start for commands without programs. */
  readonly warmSandbox?: boolean
  /** Replaces a service's default limits. */
  readonly storagePatience?: StoragePatience
}

export interface Runtime {
  readonly container: Container
  readonly registry: Registry
  readonly config: CoreConfig
  readonly log: Logger
  /** The address, final once the service listens. */
  readonly listening: ListeningHooks
  start(): Promise<void>
  stop(): Promise<void>
}

export { frameworkRoot } from "./plugins.ts"

/** Loads plugins and creates every service. No service starts or opens files yet. Throws BootError with every problem. */
export async function buildRuntime(args: BuildArgs): Promise<Runtime> {
  const { config, log, clock = systemClock, root = process.cwd(), production = process.env["NODE_ENV"] === "production" } = args
  const container = new Container()
  const registry = new Registry()
  const listening = new ListeningHooks(`http://${config.server.host}:${config.server.port}`)
  mkdirSync(config.data_dir, { recursive: true, mode: 0o700 })
  const ids = timeOrderedIds(clock)
  container.value(Settings, config)
  container.value(Clock, clock)
  container.value(Ids, ids)
  container.value(Log, log)
  container.value(Declarations, registry)
  container.value(Outgoing, { capture: args.capture })
  container.provide(Metrics, { create: () => metricsRegistry() })
  container.provide(MainThread, {
    inject: { log: Log, metrics: Metrics },
    create: (deps) => new MainThreadWatch(deps),
    start: (watch) => watch.start(),
    stop: (watch) => watch.stop(),
  })
  provideDestinations(container)
  provideVault(container, production)
  const processId = ids.uuid()
  await provideStorage(container, registry, config, processId, args.storagePatience)
  provideWork(container, registry, processId, args)
  provideCalls(container, registry, listening, args)
  registerPlugins(await loadPlugins({ config, root, plugins: args.plugins ?? [] }), { container, registry })
  provideRunner(container)
  if (args.serve !== false) provideServer(container, registry, listening, { worker: args.worker, production })
  try {
    container.everything()
  } catch (error) {
    throw new BootError((error as Error).message.split("\n"))
  }
  const app = new App(container, log)
  return { container, registry, config, log, listening, start: () => app.start(), stop: () => app.stop() }
}

/** Created once, since process metrics run until the process ends. */
let ofProcess: MetricsRegistry | undefined

function metricsRegistry(): Metrics {
  if (!ofProcess) {
    ofProcess = new MetricsRegistry()
    collectDefaultMetrics({ register: ofProcess, prefix: "millrace_" })
  }
  const registry = new MetricsRegistry()
  for (const { name } of ofProcess.getMetricsAsArray()) {
    const metric = ofProcess.getSingleMetric(name)
    if (metric) registry.registerMetric(metric)
  }
  return registry
}
