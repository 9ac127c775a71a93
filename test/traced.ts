// Tracing as an operator turns it on: an SDK registered for the whole process, its spans kept to be looked at.
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

/** One for the whole process: a tracer keeps to the first provider that it meets. */
const spans = new InMemorySpanExporter()
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] })

/** Registers it; to be undone by `endTracing`. */
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
