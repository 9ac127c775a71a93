// The pipeline engine's services for other modules: PipelineEngine, InboundHandler, DeferredServices, and the erasure of
// payloads.

import { Leases } from "../contract/cluster.ts"
import { JobQueue } from "../contract/job.ts"
import { InboundHandler } from "../contract/route.ts"
import { Store } from "../contract/store.ts"
import { Clock } from "../kernel/clock.ts"
import { Settings } from "../kernel/config.ts"
import type { Container } from "../kernel/di.ts"
import { token } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import { Ids } from "../kernel/ids.ts"
import { Log } from "../kernel/log.ts"
import { AcceptedEvents, createAcceptedEvents } from "../pipeline/accepted-events.ts"
import { PipelineEngine } from "../pipeline/engine.ts"
import { createEventFiles, EventFiles } from "../pipeline/event-files.ts"
import { createIntakes, Intakes } from "../pipeline/intake.ts"
import { PayloadErasure } from "../pipeline/journal/erasure.ts"
import { DeferredServices, deferredJobId } from "../pipeline/run/deferred-payload.ts"
import { createSettledEvents, SettledEvents } from "../pipeline/settled-events.ts"
import { PipelineSource, type StoredPipeline } from "../pipeline/source.ts"
import { Engine, type EngineArgs, needs } from "./pipeline-engine.ts"

function takenAtItsEndpoint(slug: string): AppError {
  return new AppError("failed_precondition", `The pipeline "${slug}" takes events at its own endpoint only.`, { reason: "endpoint_only" })
}

const EngineToken = token<Engine>("Engine")
const ErasureToken = token<PayloadErasure>("PayloadErasure")

/** Registers the engine's services; `compile` and `backoff` come from other modules. */
export function provideEngine(
  container: Container,
  lent: Pick<EngineArgs, "registry" | "node" | "publicUrl" | "compile" | "backoff">,
): void {
  container.provide(Intakes, { create: createIntakes })
  container.provide(EventFiles, { create: createEventFiles })
  container.provide(AcceptedEvents, { create: createAcceptedEvents })
  container.provide(SettledEvents, { inject: { log: Log }, create: ({ log }) => createSettledEvents(log) })
  container.provide(EngineToken, {
    inject: needs,
    create: (deps) => new Engine({ ...deps, ...lent, container }),
    stop: async (engine) => {
      engine.stopping.abort()
      await engine.rejections.stop()
      await engine.templates.stop()
    },
  })
  container.provide(PipelineEngine, {
    inject: { engine: EngineToken, intakes: Intakes },
    create: ({ engine, intakes }) => {
      const refuseIntake = (stored: StoredPipeline) => {
        if (intakes.of(stored.document.purpose)) throw takenAtItsEndpoint(stored.slug)
      }
      return {
        compile: (document, organization) => engine.compile(document, organization),
        receive: (endpointId, request) => engine.receive(endpointId, request),
        submit: async (stored, event) => {
          refuseIntake(stored)
          return await engine.internal.submit(stored, event)
        },
        dryRun: async (stored, event) => {
          refuseIntake(stored)
          return await engine.dryRun.run(stored, event)
        },
        replay: (stored, executionId, caller, options) => engine.replay.replay(stored, executionId, caller, options),
        asSender: engine.asSender,
        gateHolds: engine.gateHolds,
        retry: engine.retry,
      }
    },
  })
  container.provide(ErasureToken, {
    inject: { store: Store, leases: Leases, clock: Clock, ids: Ids, log: Log, config: Settings, queue: JobQueue },
    create: ({ config, queue, ...deps }) =>
      new PayloadErasure({
        ...deps,
        days: config.retention.payloads_days,
        pipelines: () => container.get(PipelineSource).all(),
        discardWork: (work, executionId) => queue.discard(work, deferredJobId(executionId)),
      }),
    start: (erasure) => erasure.start(),
    stop: (erasure) => erasure.stop(),
  })
  container.provide(InboundHandler, { inject: { engine: EngineToken }, create: ({ engine }) => engine.http })
  container.provide(DeferredServices, { inject: { engine: EngineToken }, create: ({ engine }) => engine.step })
}
