// One trace over every hop: into a call by a header or an MCP message, through the queue, and out to another system.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { InMemorySpanExporter } from "@opentelemetry/sdk-trace"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { endTracing, startTracing } from "../traced.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const traceparent = `00-${traceId}-b7ad6b7169203331-01`

describe("a trace", () => {
  const messages: (string | undefined)[] = []
  const peer = createServer((request, response) => {
    messages.push(request.headers["traceparent"] as string | undefined)
    response.setHeader("content-type", "application/json").end("{}")
  })
  let host: TestHost
  let address: string
  let spans: InMemorySpanExporter
  before(async () => {
    await new Promise<void>((resolve) => peer.listen(0, "127.0.0.1", resolve))
    address = `127.0.0.1:${(peer.address() as AddressInfo).port}`
    host = await testHost({ capture: false, env: { MILLRACE_OUTGOING_ALLOW_HOSTS: address } })
    spans = startTracing()
  })
  after(async () => {
    endTracing()
    await host.stop()
    peer.close()
  })

  it("reaches a call over MCP by the request's header, or by the message's own, which wins", async () => {
    const own = "1af7651916cd43dd8448eb211c80319d"
    for (const [meta, expected] of [
      [{}, traceId],
      [{ traceparent: `00-${own}-b7ad6b7169203331-01` }, own],
    ] as const) {
      spans.reset()
      const response = await fetch(`${host.url}/mcp`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          authorization: `Bearer ${host.adminKey}`,
          traceparent,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "me_get", arguments: {}, _meta: meta } }),
      })
      expect(await response.text()).to.include('\\"role\\":\\"owner\\"')
      const span = spans.getFinishedSpans().find(({ name }) => name === "me.get")
      expect([span?.spanContext().traceId, span?.attributes["millrace.surface"]]).to.deep.equal([expected, "mcp"])
    }
  })

  it("goes from a call through the queue to the system that the job calls", async () => {
    const pipeline = { name: "Call", state: "active", pipeline: [{ id: "tell", type: "http.request", url: `http://${address}/` }] }
    expect((await host.api("POST", "/v1/event-pipelines", pipeline)).status).to.equal(200)
    const request = new Promise<void>((resolve) => peer.once("request", () => resolve()))
    await host.api("POST", "/v1/event-pipelines/call/events", { payload: {} }, { headers: { traceparent } })
    await request
    expect(messages).to.have.length(1)
    expect(messages[0]).to.match(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
  })
})
