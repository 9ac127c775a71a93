// The server around the surfaces: start, refusals before any handler, and stop.

import { connect } from "node:net"
import { expect } from "chai"
import { RunningTime } from "../slowness.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("the HTTP server", () => {
  const benches: SurfaceBench[] = []
  const open = async (options: Parameters<typeof openSurfaceBench>[0] = {}) => {
    const bench = await openSurfaceBench(options)
    benches.push(bench)
    return bench
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close()
  })

  it("says what to do when the port is taken", async () => {
    const bench = await open()
    let message = ""
    await bench
      .makeServer(bench.port)
      .start()
      .catch((error: Error) => {
        message = error.message
      })
    expect(message).to.contain(`127.0.0.1:${bench.port}`).and.to.contain("EADDRINUSE").and.to.contain("PORT")
  })

  it("hands events to the inbound handler and nothing else", async () => {
    const received: string[] = []
    const bench = await open({
      inbound: {
        handle(request, response, requestId) {
          received.push(request.url ?? "")
          response.writeHead(202, { "x-request-id": requestId }).end("taken")
        },
      },
    })
    const accepted = await call(bench, "POST", "/v1/inbound/in_abc?x=1", { key: null, body: "{}", headers: { "x-request-id": "in-1" } })
    expect([accepted.status, accepted.headers.get("x-request-id")]).to.deep.equal([202, "in-1"])
    expect((await call(bench, "GET", "/v1/inboundx", { key: null })).status).to.equal(404)
    expect(received).to.deep.equal(["/v1/inbound/in_abc?x=1"])
  })

  it("answers what is not HTTP, or has too long a head, in the same shape", async () => {
    const bench = await open()
    const broken = await exchange(bench, "NONSENSE\r\n\r\n")
    expect(broken)
      .to.match(/^HTTP\/1.1 400 /)
      .and.to.contain('"code":"invalid_argument"')
      .and.to.match(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/)
    const long = await exchange(bench, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"y".repeat(70_000)}\r\n\r\n`)
    expect(long)
      .to.match(/^HTTP\/1.1 431 /)
      .and.to.contain('"code":"resource_exhausted"')
      .and.to.match(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/)
  })

  it("takes a query as long as its fields may be, percent-encoded", async () => {
    const bench = await open()
    const q = '{"'.repeat(5_000)
    const answer = await call(bench, "GET", `/v1/notes/search?q=${encodeURIComponent(q)}`)
    expect([answer.status, String(answer.json["q"]).length]).to.deep.equal([200, 10_000])
  })

  it("stops without cutting a request in progress, and takes no new one", async () => {
    const drainMs = 60_000
    const bench = await open({ drainMs })
    let release: () => void = () => {}
    bench.stage.gate = new Promise((resolve) => {
      release = resolve
    })
    const entered = new Promise<void>((resolve) => {
      bench.stage.entered = resolve
    })
    const under = call(bench, "POST", "/v1/notes", { body: { id: "late", text: "but whole" } })
    await entered
    let stopped = false
    const stop = bench.server.stop().then(() => {
      stopped = true
    })
    const refused = await call(bench, "GET", "/healthz", { key: null }).then(
      () => "answered",
      () => "refused",
    )
    expect(refused).to.equal("refused")
    expect(stopped).to.equal(false)
    const time = new RunningTime()
    const released = time.now()
    release()
    expect((await under).status).to.equal(201)
    await stop
    // Such a connection ends at the drain deadline.
    expect(time.now() - released, "a kept-alive connection held the stop up").to.be.below(drainMs / 2)
    time.stop()
  })

  it("cuts what is still in progress at the drain deadline", async () => {
    const bench = await open({ drainMs: 100 })
    bench.stage.gate = new Promise(() => {})
    const entered = new Promise<void>((resolve) => {
      bench.stage.entered = resolve
    })
    const under = call(bench, "POST", "/v1/notes", { body: { id: "never", text: "done" } }).then(
      () => "answered",
      () => "cut",
    )
    await entered
    await bench.server.stop()
    expect(await under).to.equal("cut")
  })
})

function exchange({ port }: { port: number }, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(text))
    socket.on("data", (chunk) => {
      answer += String(chunk)
    })
    // Requests after a refused one may be answered with a reset.
    socket.on("error", () => undefined)
    socket.on("close", () => resolve(answer))
  })
}
