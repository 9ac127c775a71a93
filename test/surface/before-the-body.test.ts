// Checks of a request before its body and query are read: sender, rate and permission.
import { connect } from "node:net"
import { expect } from "chai"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("before the body is read", () => {
  const benches: SurfaceBench[] = []
  const open = async (options: Parameters<typeof openSurfaceBench>[0] = {}) => {
    const bench = await openSurfaceBench(options)
    benches.push(bench)
    return bench
  }
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close()
  })

  const large = JSON.stringify({ id: "big", text: "x".repeat(1_200_000) })
  const bad = [
    ["POST", "/v1/notes", { body: '{"id":' }],
    ["POST", "/v1/notes", { body: large }],
    ["POST", "/v1/notes", { body: "id=x", headers: { "content-type": "text/plain" } }],
    ["PATCH", "/v1/notes/x?text=y", { body: "{}" }],
    ["GET", "/v1/notes/x?id=y", {}],
  ] as const

  it("a caller without a key is refused as such, and counted by address", async () => {
    const bench = await open({ addressPerMinute: bad.length })
    bench.clock.stand()
    for (const [method, path, options] of bad) {
      const answer = await call(bench, method, path, { ...options, key: null })
      expect([answer.status, answer.json["code"]], `${method} ${path}`).to.deep.equal([401, "unauthenticated"])
    }
    expect((await call(bench, "POST", "/v1/notes", { key: null, body: '{"id":' })).status).to.equal(429)
  })

  it("a caller who may not is told so", async () => {
    const bench = await open()
    const answer = await call(bench, "POST", "/v1/notes", { key: "a-guest", body: '{"id":' })
    expect([answer.status, answer.json["code"]]).to.deep.equal([403, "permission_denied"])
  })

  it("a call is counted once, also one whose body is malformed", async () => {
    const bench = await open({ rateLimits: { key_per_minute: 3, organization_per_minute: 100 } })
    bench.clock.stand()
    for (const [callsLeft, status, [method, path, options]] of [
      [2, 400, bad[0]],
      [1, 413, bad[1]],
      [0, 415, bad[2]],
    ] as const) {
      const answer = await call(bench, method, path, options)
      expect(answer.status).to.equal(status)
      expect(answer.headers.get("ratelimit")).to.match(new RegExp(`"key";r=${callsLeft};`))
      expect(answer.headers.has("ratelimit-policy")).to.equal(true)
    }
    const refused = await call(bench, "POST", "/v1/notes", { body: '{"id":' })
    expect([refused.status, refused.json.details["reason"]]).to.deep.equal([429, "rate_limited"])
    expect(bench.stage.handled).to.equal(0)
  })

  it("a caller without a key is answered before the body has come", async () => {
    const bench = await open()
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(bench.port, "127.0.0.1")
      socket.write("POST /v1/notes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
      socket.once("data", (chunk) => {
        socket.destroy()
        resolve(String(chunk))
      })
      socket.once("error", reject)
    })
    expect(answer).to.match(/^HTTP\/1\.1 401 /)
  })
})
