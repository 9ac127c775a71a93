// Spans through OpenTelemetry's API. Without a registered SDK (`node --import ./your-otel.mjs core/main.ts`) no span is recorded,
// and the cost is one call. Trace context comes in with `fromHeaders` and goes out with `traceHeaders`. Its format is the
// registered propagator's; default W3C `traceparent`.
import {
  type Attributes,
  context,
  INVALID_SPAN_CONTEXT,
  ProxyTracerProvider,
  propagation,
  type Span,
  type SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api"

export { type Span, SpanKind } from "@opentelemetry/api"

const tracer = trace.getTracer("millrace")
/** Replaces a span if tracing is off. */
const none = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)

export interface SpanOptions {
  readonly kind?: SpanKind
  /** Called only if the span is recorded. */
  readonly attributes?: () => Attributes
}

/** Runs a function inside a span. The span records a thrown error and ends with the function. Spans begun inside are its children. */
export async function inSpan<T>(name: string, { kind, attributes }: SpanOptions, run: (span: Span) => Promise<T>): Promise<T> {
  if (!isTracing()) return await run(none)
  return await tracer.startActiveSpan(name, kind === undefined ? {} : { kind }, async (span) => {
    if (attributes && span.isRecording()) span.setAttributes(attributes())
    try {
      return await run(span)
    } catch (error) {
      if (span.isRecording()) {
        span.recordException(error instanceof Error ? error : String(error))
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      throw error
    } finally {
      span.end()
    }
  })
}

/** Returns true if an SDK is registered. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer("millrace") !== undefined
}

/** Runs a stage of a traced operation in a span of its own. Without tracing, only runs it. */
export function inStage<T>(name: string, run: () => T): T | Promise<Awaited<T>> {
  if (!isTracing()) return run()
  return inSpan(name, {}, async () => await run()) as Promise<Awaited<T>>
}

/** Runs under the trace of the request's headers, so inner spans belong to this trace. */
export function fromHeaders<T>(headers: Readonly<Record<string, string | string[] | undefined>>, run: () => T): T {
  return context.with(propagation.extract(context.active(), headers), run)
}

/** Returns headers with the current trace for another service. Empty without an SDK. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {}
  propagation.inject(context.active(), headers)
  return headers
}
