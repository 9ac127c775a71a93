// The client with real peers: redirects, credentials, bounds, deadlines, and refused requests.

import { brotliCompressSync, gzipSync } from "node:zlib"
import { expect } from "chai"
import { AppError } from "#core"
import { createOutgoingHttp, type OutgoingClient, outcomeOf } from "../../../plugins/platform/outgoing-http/client.ts"
import { nextHop } from "../../../plugins/platform/outgoing-http/redirect.ts"
import { failureOf } from "../../refusal.ts"
import { listen, outgoing, type Peer, type PeerRequest } from "./loopback-peer.ts"

describe("outgoing http: client", () => {
  let peer: Peer
  let other: Peer
  let client: OutgoingClient
  const routes: Record<string, Parameters<typeof listen>[0]> = {
    "/json": (_asked, response) => response.setHeader("content-type", "application/json; charset=utf-8").end('{"a":[1,2]}'),
    "/deep": (_asked, response) => response.setHeader("content-type", "application/json").end("[".repeat(5_000) + "]".repeat(5_000)),
    "/latin": (_asked, response) => response.setHeader("content-type", "text/plain; charset=iso-8859-1").end(Buffer.from([0xe9])),
    "/gzip": (_asked, response) => response.setHeader("content-encoding", "gzip").end(gzipSync("packed")),
    "/br": (_asked, response) => response.setHeader("content-encoding", "br").end(brotliCompressSync("packed")),
    "/bomb": (_asked, response) => response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(50_000_000))),
    "/odd": (_asked, response) => response.setHeader("content-encoding", "zstd").end("x"),
    "/broken": (_asked, response) => response.setHeader("content-encoding", "gzip").end("SECRET-BODY"),
    "/big": (_asked, response) => response.end(Buffer.alloc(200_000)),
    "/endless": (_asked, response) => {
      const pump = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384)));
      }
      response.on("drain", pump)
      pump()
    },
    "/silent": () => undefined,
    "/drip": (_asked, response) => response.write("begun"),
    "/reset": (_asked, response) => response.destroy(),
    "/away": (_asked, response) => response.writeHead(307, { location: `${other.origin}/landed` }).end(),
    "/near": (_asked, response) => response.writeHead(302, { location: "/json" }).end(),
    "/loop": (_asked, response) => response.writeHead(302, { location: "/loop" }).end(),
    "/inside": (_asked, response) => response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end(),
    "/file": (_asked, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end(),
    "/login": (_asked, response) => response.writeHead(302, { location: `http://user:pass@127.0.0.1:${other.port}/` }).end(),
    "/nowhere": (_asked, response) => response.writeHead(302, { location: "http://[" }).end(),
    "/teapot": (_asked, response) => response.writeHead(418).end("SECRET-BODY"),
    "/later": (_asked, response) => response.writeHead(503, { "retry-after": "7" }).end("SECRET-BODY"),
  }
  before(async () => {
    const answer = (request: PeerRequest, response: Parameters<Parameters<typeof listen>[0]>[1]) => {
      const route = routes[request.url]
      if (route) route(request, response)
      else response.end("ok")
    }
    peer = await listen(answer)
    other = await listen((_asked, response) => response.end("other"))
    client = createOutgoingHttp(outgoing(`127.0.0.1:${peer.port}`, `127.0.0.1:${other.port}`))
  })
  beforeEach(() => {
    peer.asked.length = 0
    other.asked.length = 0
  })
  after(async () => {
    await client.close()
    await peer.close()
    await other.close()
  })
  const get = (path: string, more: object = {}) => client.fetch({ url: peer.origin + path, ...more })

  it("sends method, headers, body and the idempotency key, and reads JSON", async () => {
    const message = { method: "post", headers: { "X-Token": "t" }, body: "hello", idempotencyKey: "key-1" }
    expect((await get("/json?a=1", message)).status).to.equal(200)
    const [request] = peer.asked
    expect(request).to.include({ method: "POST", url: "/json?a=1", body: "hello" })
    expect(request?.headers).to.include({ "x-token": "t", "idempotency-key": "key-1" })
    expect((await get("/json")).json).to.deep.equal({ a: [1, 2] })
    expect((await get("/latin")).text).to.equal("é")
    expect((await get("/gzip")).text).to.equal("packed")
    expect((await get("/br")).text).to.equal("packed")
    expect((await get("/deep")).json).to.equal(undefined)
    expect((await get("/gzip", { method: "HEAD" })).text).to.equal("")
  })

  it("drops credentials when a redirect leaves the origin, and keeps them inside", async () => {
    const headers = { Authorization: "Bearer SECRET", Cookie: "c=SECRET", "X-Api-Key": "SECRET", Accept: "text/plain" }
    const answer = await get("/away", { headers, idempotencyKey: "k", method: "POST", body: "b" })
    expect(answer).to.include({ text: "other", origin: other.origin })
    expect(other.asked[0]).to.include({ method: "POST", body: "b" })
    expect(other.asked[0]?.headers).to.include({ accept: "text/plain" })
    expect(JSON.stringify(other.asked)).not.to.include("SECRET")
    expect(other.asked[0]?.headers).not.to.have.any.keys("authorization", "cookie", "x-api-key", "idempotency-key")
    await get("/near", { headers, method: "POST", body: "b" })
    expect(peer.asked.at(-1)).to.include({ method: "GET", url: "/json", body: "" })
    expect(peer.asked.at(-1)?.headers).to.include({ "x-api-key": "SECRET" })
  })

  const redirects: [string, string][] = [
    ["/loop", "too_many_redirects"],
    ["/inside", "address_refused"],
    ["/file", "url_refused"],
    ["/login", "url_refused"],
    ["/nowhere", "invalid_redirect"],
  ]
  for (const [path, reason] of redirects) {
    it(`refuses the redirect of ${path} as ${reason}`, async () => {
      const error = await failureOf(get(path))
      expect(error.details).to.include({ reason, retryable: false })
      expect(error.message).not.to.include("user:pass")
      expect(peer.asked).to.have.length(path === "/loop" ? 6 : 1)
      expect(other.asked).to.have.length(0)
    })
  }

  it("never goes on from https to http", () => {
    const hop = { url: new URL("https://a.test/"), method: "GET", headers: {}, body: undefined }
    const location = (to: string) => ({ status: 302, headers: { location: to } })
    expect(nextHop(hop, location("https://a.test/b"), 0, "follow")?.url.href).to.equal("https://a.test/b")
    expect(() => nextHop(hop, location("http://a.test/b"), 0, "follow"))
      .to.throw(AppError)
      .with.nested.property("details.reason", "redirect_downgrade")
  })

  it("stays in the origin, or returns the redirect, where asked to", async () => {
    expect((await failureOf(get("/away", { redirects: "same_origin" }))).details).to.include({ reason: "cross_origin_redirect" })
    expect((await get("/away", { redirects: "manual" })).status).to.equal(307)
    expect(other.asked).to.have.length(0)
  })

  it("bounds what it reads, packed or not, and says nothing of it", async () => {
    for (const path of ["/bomb", "/big", "/endless"]) {
      const error = await failureOf(get(path))
      expect(error.details, path).to.include({ reason: "response_too_large", retryable: false })
    }
    expect((await failureOf(get("/json", { maxBytes: 3 }))).code).to.equal("resource_exhausted")
    expect((await failureOf(get("/odd"))).details).to.include({ reason: "unexpected_encoding" })
    const broken = await failureOf(get("/broken"))
    expect(broken.details).to.include({ reason: "invalid_encoding" })
    expect(broken.message).not.to.include("SECRET-BODY")
  })

  it("gives up at the deadline and when its caller stops, also halfway through a body", async () => {
    for (const path of ["/silent", "/drip"]) {
      expect((await failureOf(get(path, { timeoutMs: 50 }))).code, path).to.equal("deadline_exceeded")
      const stop = new AbortController()
      const running = failureOf(get(path, { signal: stop.signal }))
      stop.abort()
      expect((await running).code, path).to.equal("canceled")
    }
    const reset = await failureOf(get("/reset"))
    expect([reset.code, reset.details?.["reason"]]).to.deep.equal(["unavailable", "connection_failed"])
  })

  it("refuses URLs, methods and headers that could smuggle", async () => {
    const bad: [string, object][] = [
      ["url_refused", { url: "ftp://a.test/" }],
      ["url_refused", { url: "file:///etc/passwd" }],
      ["url_refused", { url: "/relative" }],
      ["url_refused", { url: `http://user:pw-SECRET@127.0.0.1:${peer.port}/` }],
      ["method_refused", { method: "CONNECT" }],
      ["method_refused", { method: "GET / HTTP/1.1\r\nX: y" }],
      ["header_refused", { headers: { "x-a": "1\r\nX-Injected: SECRET" } }],
      ["header_refused", { headers: { "x-a\r\nX-Injected": "1" } }],
      ["header_refused", { headers: { "x-a": "snow \u2603" } }],
      ["header_refused", { headers: { Host: "other.test" } }],
      ["header_refused", { headers: { "Transfer-Encoding": "chunked" } }],
      ["header_refused", { headers: { "Content-Length": "0" } }],
      ["header_refused", { headers: { "X-A": "1", "x-a": "2" } }],
      ["header_refused", { idempotencyKey: "a\nb" }],
    ]
    for (const [reason, request] of bad) {
      const error = await failureOf(client.fetch({ url: peer.origin, ...request }))
      expect(error.details, JSON.stringify(request)).to.include({ reason, retryable: false })
      expect(error.message).not.to.include("SECRET")
    }
    expect(peer.asked).to.have.length(0)
  })

  it("turns statuses into outcomes that say whether to try again, without the body", async () => {
    expect(outcomeOf(await get("/json"))).to.deep.equal({ status: 200, body: { a: [1, 2] }, truncated: false })
    expect(outcomeOf(await get("/big", { url: `${peer.origin}/short` }))).to.include({ body: "ok" })
    const final = await failureOf(get("/teapot").then(outcomeOf))
    expect(final.details).to.deep.equal({ reason: "unexpected_status", status: 418, retryable: false })
    const passing = await failureOf(get("/later").then(outcomeOf))
    expect(passing).to.include({ code: "unavailable", retryAfterS: 7 })
    expect(passing.details).to.deep.equal({ reason: "receiver_unavailable", status: 503, retryable: true })
    expect(final.message + passing.message).not.to.include("SECRET-BODY")
    const long = { status: 200, headers: {}, text: `${"x".repeat(65_535)}😀`, json: undefined, origin: "o" }
    expect(outcomeOf(long)).to.include({ truncated: true })
    expect(String(outcomeOf(long).body).isWellFormed()).to.equal(true)
  })
})
