// Spans of calls with an SDK registered: what they say, whose trace they belong to, and what goes out of it.
import { AsyncLocalStorage } from "node:async_hooks"
import { type Context, type ContextManager, context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace"
import { expect } from "chai"
import { fromHeaders, inSpan, traceHeaders } from "../../core/kernel/tracing.ts"
import { call, type House, openHouse } from "./house.ts"

class Contexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()
  active = () => this.#storage.getStore() ?? ROOT_CONTEXT
  with: ContextManager["with"] = (within, run, self, ...args) => this.#storage.run(within, () => run.call(self, ...args))
  bind: ContextManager["bind"] = (_within, target) => target
  enable = () => this
  disable = () => this
}

const traceId = "0af7651916cd43dd8448eb211c80319c"
const traceparent = `00-${traceId}-b7ad6b7169203331-01`

describe("tracing without an SDK", () => {
  it("costs nothing and carries nothing on", async () => {
    let asked = false
    const attributes = () => {
      asked = true
      return {}
    }
    const headers = await fromHeaders({ traceparent }, () => inSpan("x", { attributes }, async () => traceHeaders()))
    expect(headers).to.deep.equal({})
    expect(asked).to.equal(false)
  })
})

describe("tracing with an SDK", () => {
  let house: House
  const spans = new InMemorySpanExporter()
  before(async () => {
    house = await openHouse()
    context.setGlobalContextManager(new Contexts())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }))
  })
  beforeEach(() => spans.reset())
  after(async () => {
    trace.disable()
    context.disable()
    propagation.disable()
    await house.close()
  })

  it("makes a span a call, in the trace that the request carries", async () => {
    expect((await call(house, "GET", "/v1/notes", { headers: { traceparent, "x-request-id": "traced" } })).status).to.equal(200)
    const [span] = spans.getFinishedSpans()
    expect([span?.name, span?.spanContext().traceId]).to.deep.equal(["notes.list", traceId])
    expect(span?.attributes).to.include({ "millrace.operation": "notes.list", "millrace.surface": "rest", "millrace.request_id": "traced" })
  })

  it("marks the span of a refused call, with its code and no secret", async () => {
    await call(house, "GET", "/v1/notes/nothing", { headers: { traceparent } })
    const [span] = spans.getFinishedSpans()
    expect(span?.status.code).to.equal(2)
    expect(span?.attributes["millrace.error_code"]).to.equal("not_found")
    expect(JSON.stringify([span?.attributes, span?.events])).not.to.contain("a-member")
  })

  it("hands the trace on to whoever is called inside", async () => {
    const headers = await fromHeaders({ traceparent }, () => inSpan("outgoing", {}, async () => traceHeaders()))
    const [span] = spans.getFinishedSpans()
    expect(headers["traceparent"]).to.equal(`00-${traceId}-${span?.spanContext().spanId}-01`)
  })
})
