// Tracing as enabled by an operator: an SDK for the whole process. Stores its spans for inspection.
import { AsyncLocalStorage } from "node:async_hooks"
import { type Context, type ContextManager, context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace"

class Contexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()
  active = () => this.#storage.getStore() ?? ROOT_CONTEXT
  with: ContextManager["with"] = (within, run, self, ...args) => this.#storage.run(within, () => run.call(self, ...args))
  bind: ContextManager["bind"] = (_within, target) => target
  enable = () => this
  disable = () => this
}

/** One for the whole process: a tracer stays with its first provider. */
const spans = new InMemorySpanExporter()
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] })

/** Registers the SDK; `endTracing` reverts it. */
export function startTracing(): InMemorySpanExporter {
  context.setGlobalContextManager(new Contexts())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  return spans
}

export function endTracing(): void {
  trace.disable()
  context.disable()
  propagation.disable()
}
