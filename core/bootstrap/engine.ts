// Provides the surroundings of the pipeline engine: the sandbox, the compiler, the job queue and the scheduler.
import { join } from "node:path"
import { Counter, Gauge, Histogram } from "prom-client"
import { ClockMarks, ClockSetBacks, ClockWatch, type ClockWatchOptions } from "../cluster/clock-watch.ts"
import { ClockCorrections, maxSkewMs } from "../contract/cluster.ts"
import { Collections } from "../contract/collection.ts"
import { Gatekeeper } from "../contract/gate.ts"
import { JobQueue, Jobs } from "../contract/job.ts"
import { Metrics, measureWaiting } from "../contract/metrics.ts"
import { createPauses, Pauses } from "../contract/pauses.ts"
import { PublicUrl } from "../contract/route.ts"
import { Scripts } from "../contract/sandbox.ts"
import { Scheduler, Schedules } from "../contract/schedule.ts"
import { Store } from "../contract/store.ts"
import { backoff } from "../jobs/attempt.ts"
import { JobCollection } from "../jobs/jobs-collection.ts"
import { bringForward } from "../jobs/late-jobs.ts"
import { DurableQueue } from "../jobs/queue.ts"
import { DurableScheduler, ScheduleCollection } from "../jobs/schedules.ts"
import { Clock } from "../kernel/clock.ts"
import { type CoreConfig, Settings } from "../kernel/config.ts"
import { type Container, token } from "../kernel/di.ts"
import { Ids } from "../kernel/ids.ts"
import { Log } from "../kernel/log.ts"
import type { Registry } from "../kernel/registry.ts"
import { compile, declared } from "../pipeline/compile.ts"
import { journalCollections } from "../pipeline/journal/collections.ts"
import { ErasureMarkCollection } from "../pipeline/journal/erasure.ts"
import { deferredJob } from "../pipeline/run/deferred.ts"
import { createSandbox, type SandboxSight } from "../pipeline/sandbox/create-sandbox.ts"
import { Sandbox } from "../pipeline/sandbox/sandbox.ts"
import { createScripts } from "../pipeline/sandbox/scripts.ts"
import { authFacts } from "./auth-facts.ts"
import { isEmbedded } from "./embedded.ts"
import { provideEngine } from "./pipeline.ts"
import { measureStore } from "./store-gauges.ts"

const Watch = token<ClockWatch>("ClockWatch")
const Queue = token<DurableQueue>("DurableQueue")
const DueSchedules = token<DurableScheduler>("DurableScheduler")

/** `sandbox` replaces the service's own. A service warms its sandbox before the first event. */
export function provideWork(
  container: Container,
  registry: Registry,
  node: string,
  { sandbox: given, warmSandbox = true }: { readonly sandbox?: Sandbox | undefined; readonly warmSandbox?: boolean },
): void {
  for (const collection of [...journalCollections, ErasureMarkCollection, JobCollection, ScheduleCollection])
    registry.add(Collections, collection, "core")
  registry.add(Jobs, deferredJob, "core")
  for (const collection of [ClockMarks, ClockSetBacks]) registry.add(Collections, collection, "cluster")
  container.provide(Watch, {
    inject: { store: Store, clock: Clock, ids: Ids, log: Log, config: Settings, metrics: Metrics },
    create: ({ config, metrics, ...deps }) =>
      new ClockWatch({ ...deps, toleranceMs: isEmbedded(config) ? 5_000 : maxSkewMs, observe: clockObserver(metrics) }),
  })
  container.provide(ClockCorrections, { inject: { watch: Watch }, create: ({ watch }) => watch })
  container.provide(Sandbox, {
    inject: { config: Settings, clock: Clock, log: Log, metrics: Metrics },
    create: ({ config, metrics, ...deps }) => {
      const observe = sandboxObserver(metrics)
      const cacheFolder = join(config.data_dir, "cache", "programs")
      const sandbox = given ?? createSandbox({ ...deps, config: config.sandbox, observe, cacheFolder })
      measureWaiting(metrics, "sandbox", () => sandbox.shares().sandbox)
      measureWaiting(metrics, "compiler", () => sandbox.shares().compiler)
      return sandbox
    },
    start: (sandbox) => (warmSandbox ? sandbox.start() : undefined),
    stop: (sandbox) => sandbox.stop(),
  })
  container.provide(Scripts, { inject: { sandbox: Sandbox }, create: ({ sandbox }) => createScripts(sandbox) })
  container.provide(Pauses, { create: createPauses })
  container.provide(Queue, {
    inject: { store: Store, clock: Clock, ids: Ids, log: Log, config: Settings, metrics: Metrics, pauses: Pauses },
    create: ({ config, metrics, ...deps }) => {
      const jobs = new Map(registry.items(Jobs).map((job) => [job.type, { job, deps: () => container.all(job.inject) }]))
      const { concurrency, lease_ms, poll_ms } = config.jobs
      const takeovers = new Counter({
        name: "millrace_job_takeovers_total",
        help: "Jobs taken over after the lease of their node expired, by type.",
        labelNames: ["type"],
        registers: [metrics],
      })
      const queue = new DurableQueue({
        ...deps,
        node,
        jobs,
        keeper: () => (container.has(Gatekeeper) ? container.get(Gatekeeper) : undefined),
        concurrency,
        leaseMs: lease_ms,
        pollMs: poll_ms,
        observe: jobObserver(metrics),
        onTakeover: (type) => takeovers.inc({ type }),
      })
      new Gauge({
        name: "millrace_node_jobs",
        help: "Jobs held by this node, by state: waiting for a slot, running, or sleeping until their next attempt.",
        labelNames: ["state"],
        registers: [metrics],
        collect() {
          this.set({ state: "waiting" }, queue.depth.waiting)
          this.set({ state: "running" }, queue.depth.running)
          this.set({ state: "sleeping" }, queue.depth.sleeping)
        },
      })
      measureWaiting(metrics, "jobs", () => queue.shares)
      measureStore({ ...deps, metrics, types: [...jobs.keys()], node, clustered: !isEmbedded(config) })
      return queue
    },
  })
  container.provide(JobQueue, { inject: { queue: Queue }, create: ({ queue }) => queue })
  container.provide(DueSchedules, {
    inject: { store: Store, queue: Queue, clock: Clock, ids: Ids, log: Log, pauses: Pauses },
    create: (deps) => {
      const jobs = new Map(registry.items(Jobs).map((job) => [job.type, job]))
      return new DurableScheduler({ ...deps, jobs, declared: registry.items(Schedules) })
    },
  })
  container.provide(Scheduler, { inject: { scheduler: DueSchedules }, create: ({ scheduler }) => scheduler })
  provideEngine(container, {
    registry,
    node,
    publicUrl: () => container.get(PublicUrl)(),
    backoff,
    compile: (document, organization, more) =>
      compile(document, {
        ...more,
        ...declared(registry),
        authFacts,
        compileProgram: (source) => container.get(Sandbox).compile({ ...source, organization: organization?.id ?? "" }),
        ...(organization?.slug === undefined ? {} : { organizationSlug: organization.slug }),
      }),
  })
}

const QueueRunner = token<{ queue: DurableQueue; scheduler: DurableScheduler; watch: ClockWatch; config: CoreConfig }>("QueueRunner")

/** Starts claiming jobs after all their services have started. Stops before any of them. */
export function provideRunner(container: Container): void {
  container.provide(QueueRunner, {
    inject: { queue: Queue, scheduler: DueSchedules, watch: Watch, config: Settings, store: Store, ids: Ids },
    create({ store, ids, ...deps }) {
      const { watch, scheduler, config } = deps
      watch.use("jobs", ({ now }) => bringForward({ store, ids, leaseMs: config.jobs.lease_ms }, now))
      watch.use("schedules", ({ now }) => scheduler.correct(now))
      return deps
    },
    start: async ({ queue, scheduler, watch, config }) => {
      await watch.start()
      if (isEmbedded(config)) await queue.takeOver()
      queue.start()
      await scheduler.start()
    },
    stop: async ({ queue, scheduler, watch, config }) => {
      await watch.stop()
      await scheduler.stop()
      await queue.stop(config.server.drain_ms)
    },
  })
}

function sandboxObserver(metrics: Metrics): (sight: SandboxSight) => void {
  const batches = new Histogram({
    name: "millrace_sandbox_batch_size",
    help: "Events handed to the sandbox at once.",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128],
    registers: [metrics],
  })
  const restarts = new Counter({
    name: "millrace_sandbox_restarts_total",
    help: "Sandbox processes lost and replaced, by cause.",
    labelNames: ["cause"],
    registers: [metrics],
  })
  const pauses = new Counter({
    name: "millrace_sandbox_pauses_total",
    help: "Pipelines paused because their code exceeded its limits.",
    registers: [metrics],
  })
  return (sight) => {
    if (sight.type === "batch") batches.observe(sight.events)
    else if (sight.type === "child_lost") restarts.inc({ cause: sight.cause })
    else if (sight.type === "paused") pauses.inc()
  }
}

function clockObserver(metrics: Metrics): ClockWatchOptions["observe"] {
  const ahead = new Gauge({
    name: "millrace_clock_ahead_seconds",
    help: "By how much the clock was ahead before it was last set back; 0 if it was not since the start.",
    aggregator: "max",
    registers: [metrics],
  })
  const times = new Counter({
    name: "millrace_clock_corrected_times_total",
    help: "Times that a clock which was ahead had set too late, and that were corrected, by kind.",
    labelNames: ["kind"],
    registers: [metrics],
  })
  return (aheadMs, corrected) => {
    ahead.set(aheadMs / 1_000)
    for (const [kind, count] of Object.entries(corrected)) times.inc({ kind }, count)
  }
}

function jobObserver(metrics: Metrics) {
  const seconds = new Histogram({
    name: "millrace_job_seconds",
    help: "Duration of job attempts, by outcome.",
    labelNames: ["type", "outcome"],
    registers: [metrics],
  })
  return (outcome: string, type: string, milliseconds: number) => seconds.observe({ type, outcome }, milliseconds / 1_000)
}
