// The parts of the pipeline engine: the processor of events, its sources, and their shared services.
import type { AnyAction } from "../contract/action.ts"
import { AuthModes, type InboundRequest } from "../contract/auth-mode.ts"
import { Live } from "../contract/channel.ts"
import { allKeys, CacheInvalidation } from "../contract/cluster.ts"
import { noUserAgent, UserAgents } from "../contract/envelope.ts"
import { Gatekeeper } from "../contract/gate.ts"
import { JobQueue } from "../contract/job.ts"
import { Metrics } from "../contract/metrics.ts"
import { Pauses } from "../contract/pauses.ts"
import { inboundPrefix } from "../contract/route.ts"
import { Store } from "../contract/store.ts"
import { clientAddressReader } from "../kernel/client-address.ts"
import { Clock } from "../kernel/clock.ts"
import { Settings } from "../kernel/config.ts"
import type { Container, Deps, TokenRecord } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import { Ids } from "../kernel/ids.ts"
import { Log } from "../kernel/log.ts"
import type { Registry } from "../kernel/registry.ts"
import { Vault } from "../kernel/vault.ts"
import { AcceptedEvents } from "../pipeline/accepted-events.ts"
import type { CompileEnvironment } from "../pipeline/compile/environment.ts"
import type { Compilation, PipelineEngine, ReceivedResponse, SenderRequest } from "../pipeline/engine.ts"
import type { HttpAnswer } from "../pipeline/event/answer.ts"
import { StoreCommitter } from "../pipeline/event/commit.ts"
import { Dedupe } from "../pipeline/event/dedupe.ts"
import { LoadedPipelines } from "../pipeline/event/loaded-pipelines.ts"
import { EventProcessor, type ProcessorServices } from "../pipeline/event/process.ts"
import { proofOf } from "../pipeline/event/proof.ts"
import { EventFiles } from "../pipeline/event-files.ts"
import { Intakes } from "../pipeline/intake.ts"
import { announcementOf } from "../pipeline/journal/entry.ts"
import { Rejections } from "../pipeline/journal/rejections.ts"
import { meters } from "../pipeline/meters.ts"
import type { DeferredServices } from "../pipeline/run/deferred-payload.ts"
import { runImmediate } from "../pipeline/run/immediate.ts"
import { storedIntents } from "../pipeline/run/intents.ts"
import { retryDeferred } from "../pipeline/run/retry-deferred.ts"
import { StepSlots } from "../pipeline/run/step-slots.ts"
import { Sandbox } from "../pipeline/sandbox/sandbox.ts"
import { SettledEvents } from "../pipeline/settled-events.ts"
import { PipelineSource, pipelineTopic } from "../pipeline/source.ts"
import { DryRunSource } from "../pipeline/sources/dry-run.ts"
import { HttpSource } from "../pipeline/sources/http.ts"
import { IntakeSource } from "../pipeline/sources/intake.ts"
import { InternalSource } from "../pipeline/sources/internal.ts"
import { ReplaySource } from "../pipeline/sources/replay.ts"
import type { SourceServices } from "../pipeline/sources/source-services.ts"
import { UnservedRequests } from "../pipeline/sources/unserved-requests.ts"
import { type Stamper, stampOf } from "../pipeline/stamp/stamp.ts"
import { RenderWorker } from "../pipeline/template/render-worker.ts"
import { TemplateRenderer } from "../pipeline/template/renderer.ts"

const dayMs = 86_400_000

export const needs = {
  store: Store,
  clock: Clock,
  ids: Ids,
  log: Log,
  sandbox: Sandbox,
  invalidation: CacheInvalidation,
  metrics: Metrics,
  config: Settings,
  intakes: Intakes,
  files: EventFiles,
  accepted: AcceptedEvents,
  settled: SettledEvents,
  vault: Vault,
  pauses: Pauses,
}

export interface EngineArgs extends Deps<typeof needs> {
  readonly container: Container
  readonly registry: Registry
  readonly node: string
  readonly publicUrl: () => string
  readonly compile: (
    document: unknown,
    organization?: { readonly id: string; readonly slug?: string },
    more?: Pick<CompileEnvironment, "saved">,
  ) => Promise<Compilation>
  readonly backoff: DeferredServices["backoff"]
}

/** The shared parts of the three services, created once. */
export class Engine {
  readonly pipelines: LoadedPipelines
  readonly internal: InternalSource
  readonly replay: ReplaySource
  readonly dryRun: DryRunSource
  readonly http: HttpSource
  readonly rejections: Rejections
  readonly compile: EngineArgs["compile"]
  readonly step: DeferredServices
  readonly retry: PipelineEngine["retry"]
  readonly asSender: PipelineEngine["asSender"]
  readonly gateHolds: PipelineEngine["gateHolds"]
  readonly stopping = new AbortController()
  readonly templates: RenderWorker
  readonly #pauses: Pauses

  constructor(args: EngineArgs) {
    const { store, clock, ids, log, sandbox, invalidation, config, container, registry, node, publicUrl, metrics } = args
    this.#pauses = args.pauses
    const depsOf = depsCache(container)
    const meter = meters(metrics)
    const source = () => container.get(PipelineSource)
    const assertLease = () => invalidation.assertLease()
    const payloadsDays = config.retention.payloads_days
    const userAgents = container.has(UserAgents) ? container.get(UserAgents) : () => noUserAgent
    const stamp: Stamper = (headers) => stampOf(headers, config.inbound.geo, userAgents)
    this.compile = args.compile
    const authMode = (name: string) => {
      const mode = registry.get(AuthModes, name)
      return mode && { mode, deps: () => container.all(mode.inject as TokenRecord | undefined) }
    }
    this.pipelines = new LoadedPipelines({
      source,
      compile: ({ document, organization: { id } }) => args.compile(document, { id }, { saved: true }),
      authMode,
      intakeOf: (purpose) => args.intakes.of(purpose),
      forget: (id) => sandbox.forget(id),
      clock,
      log,
      drainMs: config.server.drain_ms,
    })
    invalidation.onChange(pipelineTopic, (key) => this.pipelines.drop(key === allKeys ? undefined : key))
    args.pauses.onChange((organization) => this.pipelines.dropOf(organization))
    this.templates = new RenderWorker(clock)
    const renderer = new TemplateRenderer(this.templates)
    const step = { clock, depsOf, backoff: args.backoff, renderer }
    const dedupe = new Dedupe(store, clock, renderer)
    this.rejections = new Rejections({ store, clock, ids, log, node, perMinute: config.inbound.rejected_entries_per_minute })
    const commit = new StoreCommitter({
      store,
      clock,
      log,
      queue: () => container.get(JobQueue),
      live: () => container.get(Live),
      dedupe,
      accepted: args.accepted,
      rejections: this.rejections,
      payloadsDays,
      vault: args.vault,
      assertLease,
    })
    const unserved = new UnservedRequests(log, clock, meter.countUnserved)
    const keeper = () => (container.has(Gatekeeper) ? container.get(Gatekeeper) : undefined)
    const immediate = { ...step, keeper, intents: storedIntents({ store, clock, keepMs: payloadsDays * dayMs }) }
    const parts: ProcessorServices = {
      clock,
      log,
      sandbox,
      stamp,
      dedupe,
      commit,
      run: (execution) => runImmediate(execution, immediate),
      signal: this.stopping.signal,
      observe: (event) => {
        const { entry, fault, isCounted } = event
        args.settled.notify(event)
        if (!isCounted) return
        meter.observe(entry)
        if (fault) unserved.note(fault)
      },
    }
    const processor = new EventProcessor({ ...parts, files: args.files, maxBodyBytes: config.inbound.max_body_bytes })
    const entriesDays = config.retention.entries_days
    const { pipelines } = this
    const services: SourceServices = { processor, pipelines, store, clock, ids, entriesDays, payloadsDays, pauses: args.pauses }
    const intakes = new IntakeSource({
      ...services,
      stamp,
      announce: ({ stored }, entry) => commit.announce(stored, entry),
      observe: (_loaded, entry) => meter.observe(entry),
      assertLease,
    })
    this.internal = new InternalSource(services)
    this.replay = new ReplaySource(services, intakes)
    this.dryRun = new DryRunSource(services, { ...parts, immediate: step })
    this.http = new HttpSource({
      ...services,
      intakes,
      source,
      log,
      maxBodyBytes: config.inbound.max_body_bytes,
      maxFileBytes: () => args.files.keeper?.maxEventBytes ?? 0,
      limits: {
        all: config.inbound.max_in_flight,
        organization: config.inbound.max_in_flight_per_organization,
        pipeline: config.inbound.max_in_flight_per_pipeline,
      },
      publicUrl,
      addressOf: clientAddressReader(config.server.trust_proxy),
      countUnknown: meter.countUnknown,
      breakOff: () => this.stopping.abort(),
      unserved,
      assertLease,
    })
    meter.inFlight(() => this.http.inFlight)
    this.step = {
      ...step,
      slots: new StepSlots({ slots: config.jobs.concurrency, clock, metrics }),
      vault: args.vault,
      keeper,
      pipelineAt: async (organization, id, revision) => {
        const stored = await source().atRevision(organization, id, revision)
        return stored ? this.pipelines.of(stored) : null
      },
      entryChanged: (entry) => {
        if (entry.organization_id) container.get(Live).emit(entry.organization_id, announcementOf(entry))
      },
    }
    this.gateHolds = async (organization, gate) => (await keeper()?.holds(organization, gate)) ?? false
    this.asSender = async (stored, event): Promise<SenderRequest | undefined> => {
      const known = authMode(stored.document.auth_mode)
      if (stored.endpoint_id === null || !known) return undefined
      const loaded = await this.pipelines.require(stored)
      const url = withQuery(publicUrl() + inboundPrefix + stored.endpoint_id, event.query)
      const request = { ...event, url }
      return { url, proof: await proofOf({ loaded, mode: known.mode, deps: known.deps(), request, now: clock.now() }) }
    }
    const { pipelineAt, entryChanged } = this.step
    this.retry = (stored, executionId, work) =>
      retryDeferred({ store, queue: container.get(JobQueue), at: pipelineAt, entryChanged }, stored, executionId, work)
  }

  /** Receives an event over another way than the endpoint, with the data for its verification. */
  async receive(endpointId: string, request: InboundRequest): Promise<ReceivedResponse> {
    const loaded = await this.pipelines.byEndpoint(endpointId)
    if (loaded?.stored.document.state !== "active" || loaded.intake)
      throw new AppError("not_found", "No active pipeline is at this address.", { reason: "no_active_pipeline" })
    this.#pauses.refuse(loaded.stored.organization.id)
    const answer = await this.http.events.receive(loaded, request)
    return { status: answer.status, headers: answer.headers ?? {}, body: answer.body, byDefault: isDefault(answer) }
  }
}

/** Returns true for the standard answer of an accepted event, if the pipeline has no `respond`. */
function isDefault({ status, body }: HttpAnswer): boolean {
  return status === 200 && /^\{"status":"accepted","execution_id":"[0-9a-f-]{36}"\}$/.test(body)
}

function withQuery(url: string, query: Readonly<Record<string, string | readonly string[]>>): string {
  const pairs = Object.entries(query).flatMap(([name, values]) => [values].flat().map((value) => [name, value] as [string, string]))
  return pairs.length === 0 ? url : `${url}?${new URLSearchParams(pairs)}`
}

/** Resolves an action's dependencies once. */
function depsCache(container: Container): (action: AnyAction) => Deps<TokenRecord> {
  const known = new Map<AnyAction, Deps<TokenRecord>>()
  return (action) => {
    const deps = known.get(action)
    if (deps) return deps
    const resolved = container.all(action.inject as TokenRecord | undefined)
    known.set(action, resolved)
    return resolved
  }
}
