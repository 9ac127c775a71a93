// Spans of calls with a registered SDK: their attributes, their trace, and outgoing context.
import type { InMemorySpanExporter } from "@opentelemetry/sdk-trace"
import { expect } from "chai"
import { fromHeaders, inSpan, traceHeaders } from "../../core/kernel/tracing.ts"
import { endTracing, startTracing } from "../traced.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const traceparent = `00-${traceId}-b7ad6b7169203331-01`

describe("tracing without an SDK", () => {
  it("costs nothing and carries nothing on", async () => {
    let isRequested = false
    const attributes = () => {
      isRequested = true
      return {}
    }
    const headers = await fromHeaders({ traceparent }, () => inSpan("x", { attributes }, async () => traceHeaders()))
    expect(headers).to.deep.equal({})
    expect(isRequested).to.equal(false)
  })
})

describe("tracing with an SDK", () => {
  let bench: SurfaceBench
  let spans: InMemorySpanExporter
  before(async () => {
    bench = await openSurfaceBench()
    spans = startTracing()
  })
  beforeEach(() => spans.reset())
  const spanOf = (expected: string) => spans.getFinishedSpans().find(({ name }) => name === expected)
  after(async () => {
    endTracing()
    await bench.close()
  })

  it("makes a span a call, in the trace that the request carries", async () => {
    expect((await call(bench, "GET", "/v1/notes", { headers: { traceparent, "x-request-id": "traced" } })).status).to.equal(200)
    const span = spanOf("notes.list")
    expect(span?.spanContext().traceId).to.equal(traceId)
    expect(spans.getFinishedSpans().map(({ name }) => name)).to.deep.equal(["admit", "notes.list", "GET /v1/notes"])
    const request = spanOf("GET /v1/notes")
    expect(span?.parentSpanContext?.spanId).to.equal(request?.spanContext().spanId)
    expect(request?.parentSpanContext?.spanId).to.equal("b7ad6b7169203331")
    expect(span?.attributes).to.include({ "millrace.operation": "notes.list", "millrace.surface": "rest", "millrace.request_id": "traced" })
  })

  it("marks the span of a refused call, with its code and no secret", async () => {
    await call(bench, "GET", "/v1/notes/nothing", { headers: { traceparent } })
    const span = spanOf("notes.get")
    expect(span?.status.code).to.equal(2)
    expect(span?.attributes["millrace.error_code"]).to.equal("not_found")
    expect(JSON.stringify([span?.attributes, span?.events])).not.to.contain("a-member")
  })

  it("passes the trace on to inner calls", async () => {
    const headers = await fromHeaders({ traceparent }, () => inSpan("outgoing", {}, async () => traceHeaders()))
    const [span] = spans.getFinishedSpans()
    expect(headers["traceparent"]).to.equal(`00-${traceId}-${span?.spanContext().spanId}-01`)
  })
})
