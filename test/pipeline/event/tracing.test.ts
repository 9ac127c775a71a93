// Spans of an event and its stages with a registered SDK, in the trace of the request.
import type { InMemorySpanExporter, ReadableSpan } from "@opentelemetry/sdk-trace"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { endTracing, startTracing } from "../../traced.ts"
import { until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

describe("tracing of events", () => {
  let host: TestHost
  let spans: InMemorySpanExporter
  before(async () => {
    host = await testHost()
    spans = startTracing()
  })
  beforeEach(() => spans.reset())
  after(async () => {
    endTracing()
    await host.stop()
  })

  const inTrace = () => spans.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId)

  it("makes a span an event, a child a stage, and says what became of it", async () => {
    const pipeline = await new Bench(host).make({ name: "Traced", pipeline: [{ type: "dataset.write", dataset_slug: "traced" }] })
    const { status, body } = await post(pipeline.inbound_url, { n: 1 }, { traceparent })
    expect(status).to.equal(200)
    await until(() => inTrace().some(({ name }) => name === "event"))
    const event = inTrace().find(({ name }) => name === "event")
    expect(event?.attributes).to.include({
      "millrace.pipeline": "traced",
      "millrace.organization": host.organization.id,
      "millrace.execution": body.execution_id,
      "millrace.status": "accepted",
      "http.response.status_code": 200,
    })
    const stages = inTrace().filter((span) => span.parentSpanContext?.spanId === event?.spanContext().spanId)
    expect(stages.map(({ name }) => name).sort()).to.deep.equal(["commit", "run", "transform", "verify"])
  })

  it("tells a refused event's cause, and nothing secret", async () => {
    const pipeline = await new Bench(host).make({
      name: "Guarded",
      auth_mode: "shared_secret_header",
      auth_config: { secret: "trace-SECRET-number-1" },
    })
    expect((await post(pipeline.inbound_url, {}, { traceparent, "x-webhook-secret": "guess-SECRET-2" })).status).to.equal(401)
    await until(() => inTrace().some(({ name }) => name === "event"))
    const event = inTrace().find(({ name }) => name === "event")
    expect(event?.attributes).to.include({ "millrace.status": "rejected", "millrace.cause": "wrong_secret" })
    expect(JSON.stringify(inTrace().map(({ attributes, events }) => [attributes, events]))).not.to.contain("SECRET")
  })

  it("makes a span a job", async () => {
    const pipeline = await new Bench(host).make({
      name: "Later",
      pipeline: [{ type: "email.send", to: "a@example.com", subject: "Hello", heading: "Hello" }],
    })
    await post(pipeline.inbound_url, {})
    // Jobs of schedules and of earlier tests' rows also have spans.
    const isOfStep = ({ name, attributes }: ReadableSpan) => name === "job" && attributes["millrace.job"] === "pipeline.deferred"
    const job = await until("the span of the step's job", () => spans.getFinishedSpans().find(isOfStep))
    expect(job.attributes).to.include({ "millrace.attempt": 1 })
  })
})
