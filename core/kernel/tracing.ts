// Spans, through OpenTelemetry's API alone: without an SDK registered (`node --import ./your-otel.mjs core/main.ts`)
// nothing is recorded and nothing is paid for but a call. Trace context comes in with `fromHeaders` and goes out with
// `traceHeaders`; its format is the registered propagator's, W3C `traceparent` unless told otherwise.
import { type Attributes, context, propagation, type Span, type SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"

export type { Span } from "@opentelemetry/api"

const tracer = trace.getTracer("millrace")

export interface SpanOptions {
  readonly kind?: SpanKind
  /** Asked for only when the span is recorded. */
  readonly attributes?: () => Attributes
}

/** Runs inside a span that ends with it; what it throws is noted there and thrown on. Spans begun inside are its children. */
export async function inSpan<T>(name: string, { kind, attributes }: SpanOptions, run: (span: Span) => Promise<T>): Promise<T> {
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
