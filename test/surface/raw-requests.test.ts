// Raw requests beyond ordinary clients: upgrades to other protocols, absolute targets, and senders who leave early. Each receives
// an answer in the common form, or needs no answer.
import { once } from "node:events"
import { connect } from "node:net"
import { expect } from "chai"
import { z } from "zod"
import { definePlugin, defineRoute } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../waiting.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("an offer of another protocol", () => {
  let bench: SurfaceBench
  const events: string[] = []
  before(async () => {
    bench = await openSurfaceBench({
      inbound: {
        async handle(request, response) {
          let body = ""
          for await (const chunk of request) body += String(chunk)
          events.push(body)
          response.writeHead(202).end("taken")
        },
      },
    })
  })
  after(() => bench.close())

  const offers = ["Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA", "Upgrade: websocket", "Upgrade: TLS/1.0"]

  it("is passed over: the request is answered, and an event taken", async () => {
    for (const offer of offers) {
      const head = `Connection: Upgrade, HTTP2-Settings, close\r\n${offer}`
      const read = await exchange(bench, `GET /healthz HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`)
      expect(read, offer)
        .to.match(/^HTTP\/1\.1 200 /)
        .and.to.contain('{"status":"ok"}')
      events.length = 0
      const event = `POST /v1/inbound/in_abc HTTP/1.1\r\nHost: x\r\n${head}\r\nContent-Length: 7\r\n\r\n{"a":1}`
      expect(await exchange(bench, event), offer).to.match(/^HTTP\/1\.1 202 /)
      expect(events, offer).to.deep.equal(['{"a":1}'])
    }
  })

  it("is taken up where it is a websocket's, on the path of the sockets", async () => {
    const socket = connect(bench.port, "127.0.0.1")
    const head = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    socket.write(`GET /live/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`)
    const [first] = (await once(socket, "data")) as [Buffer]
    socket.destroy()
    expect(String(first)).to.match(/^HTTP\/1\.1 101 /)
    const h2c = "Connection: Upgrade, close\r\nUpgrade: h2c"
    expect(await exchange(bench, `GET /live/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\n${h2c}\r\n\r\n`)).to.match(/^HTTP\/1\.1 200 /)
  })
})

describe("a target that is a whole address", () => {
  let host: TestHost
  before(async () => {
    const route = defineRoute({
      name: "whole.read",
      summary: "For a test.",
      method: "GET",
      path: "/whole/{name}",
      handle: ({ request }) => ({ body: `${request.params["name"]} ${request.query.get("q")}` }),
    })
    const plugin = definePlugin({ id: "whole", config: z.strictObject({}), register: (reg) => reg.routes(route) })
    host = await testHost({ plugins: [plugin] })
  })
  after(() => host.stop())

  const send = (method: string, target: string) =>
    exchange({ port: Number(new URL(host.url).port) }, `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)

  it("is read for its path and query, whomever it names", async () => {
    for (const authority of ["any.test", "evil:99999", "[bad", ""]) {
      const whole = await send("GET", `http://${authority}/whole/x?q=1`)
      expect(whole, authority)
        .to.match(/^HTTP\/1\.1 200 /)
        .and.to.match(/\r\nx 1$/)
      const refused = await send("GET", `http://${authority}/v1/me`)
      expect(refused, authority)
        .to.match(/^HTTP\/1\.1 401 /)
        .and.to.contain('"code":"unauthenticated"')
        .and.to.match(/\r\nX-Request-Id: \S/i)
    }
    expect(await send("POST", "http://evil:99999/v1/inbound/in_unknown")).to.match(/^HTTP\/1\.1 404 /)
  })

  it("or a strange one gets an answer in the one shape, never a page and never a 5xx", async () => {
    const targets = [
      "http://evil",
      "http://evil:99999?x=1",
      "*",
      "//",
      "//[bad/v1/me",
      "//[bad?x",
      "/?",
      "/a\\b",
      "/%",
      "/whole/%E0%A4%A",
      "///?#",
    ]
    for (const target of [...targets, "http://[bad\u00a0", "/\u00a0//[x", "/whole/x?q=%"]) {
      const answer = await send("GET", target)
      expect(answer, target).to.match(/^HTTP\/1\.1 (?:2|4)\d\d /)
      expect(answer, target).not.to.contain("<html")
    }
  })

  it("of an inbound endpoint without an id is unknown, by every method", async () => {
    for (const target of ["/v1/inbound/", "/v1/inbound/?x=1", `/v1/inbound/${"x".repeat(8_000)}`]) {
      for (const method of ["POST", "GET", "OPTIONS", "PUT"]) {
        const answer = await send(method, target)
        expect(answer, `${method} ${target.slice(0, 40)}`)
          .to.match(/^HTTP\/1\.1 404 /)
          .and.to.contain('"code":"not_found"')
        expect(answer).not.to.match(/retry-after/i)
      }
    }
  })
})

describe("a client that leaves in the middle of its body", () => {
  let host: TestHost
  before(async () => {
    const route = defineRoute({
      name: "left.read",
      summary: "For a test.",
      method: "POST",
      path: "/left",
      handle: async ({ request }) => ({ body: String((await request.body()).length) }),
    })
    host = await testHost({ plugins: [definePlugin({ id: "left", config: z.strictObject({}), register: (reg) => reg.routes(route) })] })
  })
  after(() => host.stop())

  it("is not an error of the service", async () => {
    const metrics = async (line: string) => (await (await fetch(`${host.url}/metrics`)).text()).includes(line)
    for (const [path, operation] of [
      ["/v1/datasets", "datasets.create"],
      ["/left", "left.read"],
    ] as const) {
      const head = `Host: x\r\nAuthorization: Bearer ${host.adminKey}\r\nContent-Type: application/json\r\nContent-Length: 900\r\nExpect: 100-continue`
      const socket = connect(Number(new URL(host.url).port), "127.0.0.1")
      socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n`)
      await once(socket, "data")
      socket.write('{"name":')
      socket.destroy()
      await until("the request being counted", () => metrics(`millrace_http_request_seconds_count{operation="${operation}"`))
    }
    await new Promise((resolve) => setImmediate(resolve))
    expect(host.logged.filter((line) => /request failed|ECONNRESET/.test(line))).to.deep.equal([])
  })
})

describe("probes and metrics", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench()
  })
  after(() => bench.close())

  it("are read, nothing else, and carry the request's id", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      for (const method of ["POST", "DELETE", "PUT"]) {
        const refused = await call(bench, method, path, { key: null })
        expect([refused.status, refused.headers.get("allow")], `${method} ${path}`).to.deep.equal([405, "GET, HEAD, OPTIONS"])
        expect(refused.json).to.include({ code: "unimplemented" })
        expect(refused.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/)
      }
      const read = await call(bench, "GET", path, { key: null, headers: { "x-request-id": "probe-1" } })
      expect([read.status, read.headers.get("x-request-id")], path).to.deep.equal([200, "probe-1"])
      const head = await call(bench, "HEAD", path, { key: null })
      expect([head.status, head.text], path).to.deep.equal([200, ""])
      const options = await call(bench, "OPTIONS", path, { key: null })
      expect([options.status, options.headers.get("allow")], path).to.deep.equal([204, "GET, HEAD, OPTIONS"])
    }
  })
})

/** Returns all received text until the server closes; targets are sent byte for byte. */
function exchange({ port }: { port: number }, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(text, "latin1"))
    socket.on("data", (chunk) => {
      answer += String(chunk)
    })
    socket.on("close", () => resolve(answer))
    socket.on("error", reject)
  })
}
