// Spans, through OpenTelemetry's API alone: without an SDK registered (`node --import ./your-otel.mjs core/main.ts`)
// nothing is recorded and nothing is paid for but a call. Trace context comes in with `fromHeaders` and goes out with
// `traceHeaders`; its format is the registered propagator's, W3C `traceparent` unless told otherwise.
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
/** In the place of a span where none is wanted. */
const none = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)

export interface SpanOptions {
  readonly kind?: SpanKind
  /** Asked for only when the span is recorded. */
  readonly attributes?: () => Attributes
}

/** Runs inside a span that ends with it; what it throws is noted there and thrown on. Spans begun inside are its children. */
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

/** Whether an SDK is registered. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer("millrace") !== undefined
}

/** A stage of something that has a span: a span of its own where spans are wanted; else `run` and nothing more. */
export function inStage<T>(name: string, run: () => T): T | Promise<Awaited<T>> {
  if (!isTracing()) return run()
  return inSpan(name, {}, async () => await run()) as Promise<Awaited<T>>
}

/** Runs under the trace that the request's headers carry, so that spans begun inside belong to it. */
export function fromHeaders<T>(headers: Readonly<Record<string, string | string[] | undefined>>, run: () => T): T {
  return context.with(propagation.extract(context.active(), headers), run)
}

/** Headers that carry the present trace to another service; none without an SDK. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {}
  propagation.inject(context.active(), headers)
  return headers
}
