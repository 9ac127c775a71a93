// Puts the engine together: the services that the rest of the house sees (PipelineEngine, InboundHandler,
// DeferredServices) and what they share.
import type { AnyAction } from "../contract/action.ts"
import { AuthModes, type InboundRequest } from "../contract/auth-mode.ts"
import { Live } from "../contract/channel.ts"
import { Coherence, everyKey } from "../contract/coherence.ts"
import { InboundHandler } from "../contract/inbound.ts"
import { JobQueue } from "../contract/job.ts"
import { Metrics } from "../contract/metrics.ts"
import { Store } from "../contract/store.ts"
import { clientAddressReader } from "../kernel/client-address.ts"
import { Clock } from "../kernel/clock.ts"
import { type CoreConfig, Settings } from "../kernel/config.ts"
import type { Container, Deps, TokenRecord } from "../kernel/di.ts"
import { token } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import { Ids } from "../kernel/ids.ts"
import { Log } from "../kernel/log.ts"
import type { Registry } from "../kernel/registry.ts"
import { AcceptedEvents, createAcceptedEvents } from "./accepted-events.ts"
import type { CompileEnvironment } from "./compile/environment.ts"
import { type Compilation, PipelineEngine, type ReceivedAnswer } from "./engine.ts"
import type { Answer } from "./event/answer.ts"
import { Conclude } from "./event/commit.ts"
import { Dedupe } from "./event/dedupe.ts"
import { LivePipelines } from "./event/loaded-pipelines.ts"
import { EventLife } from "./event/process.ts"
import { createIntakes, Intakes } from "./intake.ts"
import { announcementOf } from "./journal/announcement.ts"
import { Rejections } from "./journal/rejections.ts"
import { meters } from "./meters.ts"
import { DeferredServices } from "./run/deferred-payload.ts"
import { storedIntents } from "./run/intents.ts"
import { retryDeferred } from "./run/retry-deferred.ts"
import { Sandbox } from "./sandbox/sandbox.ts"
import { PipelineSource, pipelineTopic } from "./source.ts"
import { dryRun } from "./sources/dry-run.ts"
import { HttpInbound } from "./sources/http.ts"
import { IntakeLife } from "./sources/intake.ts"
import { InternalEvents, type InternalServices } from "./sources/internal.ts"
import { RenderWorker } from "./template/render-worker.ts"
import { TemplateRenderer } from "./template/renderer.ts"

const dayMs = 86_400_000

/** Everything the three services share; made once. */
class Engine {
  readonly pipelines: LivePipelines
  readonly internal: InternalEvents
  readonly intakeLife: IntakeLife
  readonly life: EventLife
  readonly handler: HttpInbound
  readonly rejections: Rejections
  readonly compile: EngineArgs["compile"]
  readonly step: DeferredServices
  readonly stopping = new AbortController()
  readonly templates: RenderWorker

  constructor(args: EngineArgs) {
    const { store, clock, ids, log, sandbox, coherence, config, container, registry, node, publicUrl, metrics } = args
    const depsOf = depsCache(container)
    const meter = meters(metrics)
    this.templates = new RenderWorker(clock)
    this.compile = args.compile
    this.#intakes = args.intakes
    this.pipelines = new LivePipelines({
      source: () => container.get(PipelineSource),
      compile: ({ document, organization: { id } }) => args.compile(document, { id }, { saved: true }),
      authMode: (name) => {
        const mode = registry.get(AuthModes, name)
        return mode && { mode, deps: () => container.all(mode.inject as TokenRecord | undefined) }
      },
      forget: (id) => sandbox.forget(id),
      clock,
      log,
      drainMs: config.server.drain_ms,
    })
    coherence.onChange(pipelineTopic, (key) => this.pipelines.drop(key === everyKey ? undefined : key))
    const renderer = new TemplateRenderer(this.templates)
    const step = { clock, depsOf, backoff: args.backoff, renderer }
    const dedupe = new Dedupe(store, clock)
    const assertLive = () => coherence.assertLive()
    const conclude = new Conclude({
      store,
      clock,
      log,
      queue: () => container.get(JobQueue),
      live: () => container.get(Live),
      dedupe,
      accepted: args.accepted,
      immediate: { ...step, intents: storedIntents({ store, clock, keepMs: config.retention.payloads_days * dayMs }) },
      payloadsDays: config.retention.payloads_days,
      signal: this.stopping.signal,
      assertLive,
    })
    this.rejections = new Rejections({ store, clock, ids, log, node, perMinute: config.inbound.rejected_entries_per_minute })
    const services: InternalServices = {
      clock,
      ids,
      log,
      sandbox,
      dedupe,
      rejections: this.rejections,
      conclude,
      config,
      assertLive,
      store,
      pipelines: this.pipelines,
      observe: meter.observe,
      renderer,
    }
    this.internal = new InternalEvents(services)
    this.intakeLife = new IntakeLife(services)
    this.life = new EventLife(services)
    const addressOf = clientAddressReader(config.server.trust_proxy)
    const source = () => container.get(PipelineSource)
    this.handler = new HttpInbound({
      pipelines: this.pipelines,
      life: this.life,
      takeOver: (live, request, from) => {
        const intake = args.intakes.of(live.stored.document.purpose)
        return intake && this.intakeLife.handle(intake, live, request, addressOf(from))
      },
      source,
      clock,
      log,
      maxBodyBytes: config.inbound.max_body_bytes,
      room: {
        all: config.inbound.max_in_flight,
        organization: config.inbound.max_in_flight_per_organization,
        pipeline: config.inbound.max_in_flight_per_pipeline,
      },
      publicUrl,
      countUnknown: meter.countUnknown,
      assertLive,
    })
    meter.inFlight(() => this.handler.inFlight)
    this.step = {
      ...step,
      pipelineAt: async (organization, id, revision) => {
        const stored = await source().atRevision(organization, id, revision)
        return stored ? this.pipelines.of(stored) : null
      },
      entryChanged: (entry) => {
        if (entry.organization_id) container.get(Live).emit(entry.organization_id, announcementOf(entry))
      },
    }
    this.retry = (stored, executionId, work) =>
      retryDeferred(
        { store, queue: container.get(JobQueue), at: this.step.pipelineAt, entryChanged: this.step.entryChanged },
        stored,
        executionId,
        work,
      )
    this.dry = (stored, event) => this.#live(stored).then((live) => dryRun(live, event, { ...services, step }))
  }

  readonly #intakes: Intakes
  readonly dry: PipelineEngine["dryRun"]
  readonly retry: PipelineEngine["retry"]

  /** An event that comes in by another door than the endpoint's own, with what it needs to be verified. */
  async receive(endpointId: string, request: InboundRequest): Promise<ReceivedAnswer> {
    const live = await this.pipelines.byEndpoint(endpointId)
    if (live?.stored.document.state !== "active" || this.#intakes.of(live.stored.document.purpose)) {
      throw new AppError("not_found", "There is no active pipeline at this address.")
    }
    const answer = await this.life.handle(live, request)
    return { status: answer.status, headers: answer.headers ?? {}, body: answer.body, byDefault: isDefault(answer) }
  }

  async #live(stored: Parameters<PipelineEngine["dryRun"]>[0]) {
    const live = await this.pipelines.of(stored)
    if (!live) {
      const message = `The pipeline "${stored.slug}" does not compile with the plugins that are loaded.`
      throw new AppError("failed_precondition", message, { reason: "does_not_compile" })
    }
    return live
  }
}

/** True for the answer of an accepted event whose pipeline does not `respond`. */
function isDefault({ status, body }: Answer): boolean {
  return status === 200 && /^\{"status":"accepted","execution_id":"[0-9a-f-]{36}"\}$/.test(body)
}

function takenAtItsEndpoint(slug: string): AppError {
  return new AppError("failed_precondition", `The pipeline "${slug}" takes events at its own endpoint only.`, { reason: "endpoint_only" })
}

interface EngineArgs {
  readonly intakes: Intakes
  readonly accepted: AcceptedEvents
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Deps<{ log: typeof Log }>["log"]
  readonly sandbox: Sandbox
  readonly coherence: Coherence
  readonly metrics: Metrics
  readonly config: CoreConfig
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

const EngineToken = token<Engine>("Engine")

/** Registers the engine's services; `compile` and `backoff` are lent by whoever puts the house together. */
export function provideEngine(
  container: Container,
  lent: Pick<EngineArgs, "registry" | "node" | "publicUrl" | "compile" | "backoff">,
): void {
  container.provide(Intakes, { create: createIntakes })
  container.provide(AcceptedEvents, { create: createAcceptedEvents })
  container.provide(EngineToken, {
    inject: {
      store: Store,
      clock: Clock,
      ids: Ids,
      log: Log,
      sandbox: Sandbox,
      coherence: Coherence,
      metrics: Metrics,
      config: Settings,
      intakes: Intakes,
      accepted: AcceptedEvents,
    },
    create: (deps) => new Engine({ ...deps, ...lent, container }),
    stop: async (engine) => {
      engine.stopping.abort()
      await engine.rejections.stop()
      await engine.templates.stop()
    },
  })
  container.provide(PipelineEngine, {
    inject: { engine: EngineToken, intakes: Intakes },
    create: ({ engine, intakes }) => ({
      compile: (document, organization) => engine.compile(document, organization),
      receive: (endpointId, request) => engine.receive(endpointId, request),
      submit: (stored, event) => {
        if (intakes.of(stored.document.purpose)) throw takenAtItsEndpoint(stored.slug)
        return engine.internal.submit(stored, event)
      },
      dryRun: (stored, event) => {
        if (intakes.of(stored.document.purpose)) throw takenAtItsEndpoint(stored.slug)
        return engine.dry(stored, event)
      },
      replay: (stored, executionId, caller) => {
        const intake = intakes.of(stored.document.purpose)
        if (intake) return engine.intakeLife.replay(intake, stored, executionId, caller)
        return engine.internal.replay(stored, executionId, caller)
      },
      retry: engine.retry,
    }),
  })
  container.provide(InboundHandler, { inject: { engine: EngineToken }, create: ({ engine }) => engine.handler })
  container.provide(DeferredServices, { inject: { engine: EngineToken }, create: ({ engine }) => engine.step })
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
