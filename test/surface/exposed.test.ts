// Public requests: documents, metrics and pipelined requests have a bounded cost, and refusals stay small.
import { once } from "node:events"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { Ajv2020 } from "ajv/dist/2020.js"
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { type TestHost, testHost } from "#core/testing"
import type { ErrorBody } from "../../core/kernel/errors.ts"
import { freePort } from "../free-port.ts"
import { until } from "../waiting.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("requests sent ahead on one connection", () => {
  let bench: SurfaceBench
  const responses: ServerResponse[] = []
  before(async () => {
    bench = await openSurfaceBench({
      inbound: { handle: (_request: IncomingMessage, response: ServerResponse) => void responses.push(response) },
    })
  })
  afterEach(() => {
    for (const response of responses.splice(0)) response.destroy()
  })
  after(() => bench.close())
  const event = "POST /v1/inbound/in_abc HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"

  it("are taken one after the other, each when the one before is answered", async () => {
    const socket = connect(bench.port, "127.0.0.1")
    socket.write(event.repeat(3))
    let read = ""
    socket.on("data", (chunk: Buffer) => {
      read += chunk.toString()
    })
    for (const body of ["one", "two", "three"]) {
      await until("an event being taken", () => responses.length > 0, { everyMs: 1 })
      // Another client's requests are answered meanwhile.
      expect((await call(bench, "GET", "/v1/notes")).status).to.equal(200)
      expect(responses).to.have.length(1)
      responses.shift()?.end(body)
    }
    await until("the last answer", () => read.includes("three"))
    expect(read.match(/one|two|three/g)).to.deep.equal(["one", "two", "three"])
    socket.destroy()
  })

  it("end the connection when there are hundreds, and are not taken", async () => {
    const socket = connect(bench.port, "127.0.0.1")
    socket.on("error", () => undefined)
    socket.resume()
    socket.write(event.repeat(600))
    // Possibly with an error: unread bytes are reset when the server cuts the connection.
    await new Promise((resolve) => socket.once("close", resolve))
    expect(responses).to.have.length(1)
  })
})

describe("documents that anyone may read", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench()
  })
  after(() => bench.close())

  it("are the same in each encoding, with one tag and their length", async () => {
    const raw = async (encoding: string) => {
      const socket = connect(bench.port, "127.0.0.1")
      socket.write(`GET /openapi.json HTTP/1.1\r\nHost: x\r\nAccept-Encoding: ${encoding}\r\nConnection: close\r\n\r\n`)
      const chunks: Buffer[] = []
      for await (const chunk of socket) chunks.push(chunk as Buffer)
      const all = Buffer.concat(chunks)
      const end = all.indexOf("\r\n\r\n")
      return { head: all.subarray(0, end).toString(), body: all.subarray(end + 4) }
    }
    const [plain, gzip, br] = [await raw("identity"), await raw("gzip"), await raw("br, gzip")]
    expect(JSON.parse(plain.body.toString())).to.have.property("openapi", "3.1.0")
    expect(gunzipSync(gzip.body).equals(plain.body)).to.equal(true)
    expect(brotliDecompressSync(br.body).equals(plain.body)).to.equal(true)
    const tagOf = (head: string) => /^etag: (.+)$/im.exec(head)?.[1]
    expect(new Set([plain, gzip, br].map(({ head }) => tagOf(head))).size).to.equal(1)
    for (const { head, body } of [plain, gzip, br]) {
      expect(head).to.match(new RegExp(`^content-length: ${body.length}$`, "im"))
      expect(head).to.match(/^vary: .*accept-encoding/im)
    }
    const response = await call(bench, "GET", "/openapi.json", { key: null, headers: { "if-none-match": tagOf(br.head) ?? "" } })
    expect([response.status, response.text]).to.deep.equal([304, ""])
  })

  it("begin at /, for programs and for browsers", async () => {
    expect((await call(bench, "GET", "/", { key: null })).json).to.include({ docs: "/docs", openapi: "/openapi.json" })
    const browser = await fetch(bench.url, { headers: { accept: "text/html,application/xhtml+xml" }, redirect: "manual" })
    expect([browser.status, browser.headers.get("location")]).to.deep.equal([303, "/docs"])
  })
})

describe("/metrics", () => {
  const token = "a-token-of-the-scraper"
  const opened = async (
    metrics: NonNullable<Parameters<typeof openSurfaceBench>[0]>["metrics"],
    use: (bench: SurfaceBench) => Promise<void>,
  ) => {
    const bench = await openSurfaceBench({ metrics: metrics ?? {} })
    try {
      await use(bench)
    } finally {
      await bench.close()
    }
  }
  const statusOf = async (url: string, headers: Record<string, string> = {}) => (await fetch(`${url}/metrics`, { headers })).status

  it("is for this machine, and not for what a proxy passes on", () =>
    opened({}, async ({ url }) => {
      expect(await statusOf(url)).to.equal(200)
      expect(await statusOf(url, { "x-forwarded-for": "203.0.113.1" })).to.equal(401)
    }))

  it("asks for the token where one is set, from this machine too", () =>
    opened({ token }, async ({ url }) => {
      const statuses = [await statusOf(url), await statusOf(url, { authorization: "Bearer another" })]
      expect(statuses).to.deep.equal([401, 401])
      const { code, details } = (await (
        await fetch(`${url}/metrics`, { headers: { authorization: "Bearer another" } })
      ).json()) as ErrorBody
      expect([code, details.reason]).to.deep.equal(["unauthenticated", "invalid_credential"])
      expect(await statusOf(url, { authorization: `Bearer ${token}`, "x-forwarded-for": "203.0.113.1" })).to.equal(200)
    }))

  it("needs the token in production, whichever address asks", async () => {
    await opened({ production: true }, async ({ url }) => {
      const response = await fetch(`${url}/metrics`)
      const { code, message, details } = (await response.json()) as ErrorBody
      expect([response.status, code, details.reason]).to.deep.equal([401, "unauthenticated", "missing_credential"])
      expect(message).to.match(/MILLRACE_METRICS_TOKEN.*metrics\.port/)
      expect(await statusOf(url, { authorization: "Bearer another" })).to.equal(401)
      expect((await fetch(`${url}/metrics`, { method: "HEAD" })).status).to.equal(401)
    })
    await opened({ production: true, token }, async ({ url }) => {
      expect(await statusOf(url)).to.equal(401)
      expect(await statusOf(url, { authorization: `Bearer ${token}` })).to.equal(200)
    })
    const port = await freePort()
    await opened({ production: true, port }, async ({ url }) => {
      expect(await statusOf(url)).to.equal(404)
      expect(await statusOf(`http://127.0.0.1:${port}`)).to.equal(200)
    })
  })

  it("needs the token behind a local proxy that adds no header, in production", async () => {
    await opened({ production: true }, async ({ url }) => {
      const proxy = createServer((incoming, outgoing) => {
        const onward = request(url + incoming.url, { headers: { host: incoming.headers.host } }, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502)
          answer.pipe(outgoing)
        })
        onward.end()
      })
      await once(proxy.listen(0, "127.0.0.1"), "listening")
      try {
        expect(await statusOf(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)).to.equal(401)
      } finally {
        proxy.closeAllConnections()
        proxy.close()
      }
    })
  })

  it("is on its own port alone where one is set", async () => {
    const port = await freePort()
    await opened({ port }, async ({ url }) => {
      expect(await statusOf(url)).to.equal(404)
      expect(await statusOf(`http://127.0.0.1:${port}`)).to.equal(200)
      expect((await fetch(`http://127.0.0.1:${port}/v1/notes`)).status).to.equal(404)
    })
  })
})

describe("a refusal", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench()
  })
  after(() => bench.close())

  const unknown = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`"k{,${n}`, 0])))

  it("of many unknown fields names a hundred, counts the rest and stays small", async () => {
    const body = unknown(2_000)
    const { status, json, text } = await call(bench, "POST", "/v1/notes", { body })
    expect(status).to.equal(400)
    expect(json.details["fields"]).to.have.length(100)
    expect(json.details["problems"]).to.be.at.least(2_000)
    expect(text.length).to.be.lessThan(4 * body.length + 65_536)
  })

  it("of an object with tens of thousands of fields comes before it is parsed, wherever it stands", async () => {
    for (const body of [unknown(60_000), `{"a":[1,{"b\\\\":${unknown(2_001)}}]}`]) {
      const { status, json } = await call(bench, "POST", "/v1/notes", { body })
      expect([status, json.details["reason"], json.details["max_fields"]]).to.deep.equal([400, "too_many_fields", 2_000])
    }
    const called = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes_create","arguments":${unknown(60_000)}}}`
    const headers = { accept: "application/json, text/event-stream" }
    const overMcp = await call(bench, "POST", "/mcp", { body: called, headers })
    expect([overMcp.status, overMcp.json.details["reason"]]).to.deep.equal([400, "too_many_fields"])
    const list = JSON.stringify({ text: "x", more: Array.from({ length: 5_000 }, (_, n) => ({ n, k: ',{"' })) })
    expect((await call(bench, "POST", "/v1/notes", { body: list })).json.details["reason"]).to.equal("invalid_fields")
  })

  it("quotes no more than the beginning of a long name", async () => {
    const body = JSON.stringify({ ["x".repeat(200_000)]: 1 })
    const { status, text } = await call(bench, "POST", "/v1/notes", { body })
    expect(status).to.equal(400)
    expect(text.length).to.be.lessThan(2_000)
  })

  it("of two Authorization headers is 400, whichever of them holds", async () => {
    const socket = connect(bench.port, "127.0.0.1")
    const headers = "Authorization: Bearer a-member\r\nauthorization: Bearer nobody\r\n"
    socket.write(`GET /v1/notes HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`)
    let read = ""
    for await (const chunk of socket) read += String(chunk)
    expect(read)
      .to.match(/^HTTP\/1\.1 400 /)
      .and.include("multiple_credentials")
  })
})

describe("the service's own description", () => {
  let host: TestHost
  const sockets: Socket[] = []
  before(async () => {
    host = await testHost({ env: { MILLRACE_LIVE_SOCKETS_PER_KEY: "2", MILLRACE_SERVER_CORS_ORIGINS: "https://app.example" } })
  })
  after(async () => {
    for (const socket of sockets) socket.close()
    await host.stop()
  })
  interface Described {
    readonly paths: Record<string, Record<string, { responses: Record<string, { content: Record<string, { schema: object }> }> }>>
    readonly components: { readonly schemas: object; readonly parameters: Record<string, { schema: object }> }
  }
  const described = async () => (await (await fetch(`${host.url}/openapi.json`)).json()) as Described

  it("allows the methods of the path itself, not those of a parameter in its place", async () => {
    for (const verb of ["apply", "plan", "validate"]) {
      const { headers } = await fetch(`${host.url}/v1/event-pipelines/${verb}`, { method: "OPTIONS" })
      expect(headers.get("allow"), verb).to.equal("OPTIONS, POST")
    }
    const { headers } = await fetch(`${host.url}/v1/event-pipelines/some-slug`, { method: "OPTIONS" })
    expect(headers.get("allow")).to.include("GET").and.include("PUT")
  })

  it("says what a repeated answer is without the secret that was shown once", async () => {
    const { paths, components } = await described()
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    for (const [path, body] of [
      ["/v1/api-keys", { name: "Repeated" }],
      ["/v1/viewer-sessions", { visitor_id: "visitor-1" }],
    ] as const) {
      const schema = paths[path]?.["post"]?.responses["200"]?.content["application/json"]?.schema
      const valid = ajv.compile({ ...schema, components })
      const headers = { authorization: `Bearer ${host.adminKey}`, "content-type": "application/json", "idempotency-key": `once-${path}` }
      for (const replayed of [null, "true"]) {
        const answer = await fetch(host.url + path, { method: "POST", headers, body: JSON.stringify(body) })
        expect(answer.headers.get("idempotency-replayed"), path).to.equal(replayed)
        const document = await answer.json()
        expect(valid(document), `${path} ${JSON.stringify(document)} ${ajv.errorsText(valid.errors)}`).to.equal(true)
      }
    }
    expect(components.parameters["RequestId"]?.schema).to.not.have.property("pattern")
  })

  it("says 200 of every operation", async () => {
    const { paths } = await described()
    const posts = Object.entries(paths).filter(([path, item]) => item["post"] && path.startsWith("/v1/page-analytics"))
    expect(posts.length).to.be.greaterThan(0)
    for (const [path, item] of posts)
      expect(Object.keys(item["post"]?.responses ?? {}), path)
        .to.include("200")
        .and.not.include("202")
  })

  it("lets pages of configured origins alone poll /live", async () => {
    const originOf = async (origin: string) => {
      const answer = await fetch(`${host.url}/live/?EIO=4&transport=polling`, { headers: { origin } })
      await answer.text()
      return answer.headers.get("access-control-allow-origin")
    }
    expect(await originOf("https://app.example")).to.equal("https://app.example")
    expect(await originOf("https://elsewhere.example")).to.equal(null)
  })

  const dial = (token: string) => {
    const socket = io(host.url, { path: "/live", auth: { token }, transports: ["websocket"], forceNew: true, reconnection: false })
    sockets.push(socket)
    return new Promise<Socket | string>((resolve) => {
      socket.once("connect", () => resolve(socket))
      socket.once("connect_error", (error) => resolve((error as Error & { data?: { code: string } }).data?.code ?? error.message))
    })
  }
  const keyOf = async (more: object) => (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Live", ...more })).body.secret

  it("holds a bounded number of sockets for a key, and takes one again when one has gone", async () => {
    const key = await keyOf({})
    const [first] = [await dial(key), await dial(key)]
    expect(await dial(key)).to.equal("resource_exhausted")
    expect(await dial(await keyOf({})), "another key").to.not.be.a("string")
    ;(first as Socket).close()
    const again = await until("room for another socket", async () => {
      const answer = await dial(key)
      return answer !== "resource_exhausted" && answer
    })
    expect(again).to.not.be.a("string")
  })

  it("ends a socket at the moment its key expires", async () => {
    const key = await keyOf({ expires_at: new Date(host.clock.now() + 3_600_000).toISOString() })
    const socket = (await dial(key)) as Socket
    const ended = new Promise((resolve) => socket.once("disconnect", resolve))
    host.clock.move(3_600_001)
    await ended
    expect(await dial(key)).to.equal("unauthenticated")
  })
})
