// Requirements of HTTP itself: methods, types, sizes, ids, conditional reads, browsers, streams.

import { type IncomingHttpHeaders, request as rawRequest } from "node:http"
import { expect } from "chai"
import fc from "fast-check"
import { jsonFault } from "../../core/kernel/json-fault.ts"
import { until } from "../waiting.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("HTTP", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench({ corsOrigins: ["https://app.example.test"] })
    for (let n = 0; n < 30; n++)
      await call(bench, "POST", "/v1/notes", { body: { id: `h${n}`, text: "a text long enough to be worth packing" } })
  })
  after(() => bench.close())

  it("answers 404 and 405 as JSON, with Allow", async () => {
    const unknown = await call(bench, "GET", "/v1/nothing")
    expect(unknown.status).to.equal(404)
    expect(unknown.json).to.include({ code: "not_found" })
    const method = await call(bench, "DELETE", "/v1/notes/h1")
    expect(method.status).to.equal(405)
    expect(method.json).to.include({ code: "unimplemented" })
    expect(method.headers.get("allow")).to.equal("GET, HEAD, OPTIONS, PATCH")
    expect((await call(bench, "GET", "/v1/notes/h1")).status).to.equal(200)
  })

  it("reads a path with a slash at its end as the one without, by every method", async () => {
    for (const path of ["/openapi.json", "/mcp", "/v1/notes"]) {
      for (const method of ["OPTIONS", "DELETE", "PROPFIND", ...(path === "/mcp" ? [] : ["GET"])]) {
        const [slashed, plain] = [await call(bench, method, `${path}/`), await call(bench, method, path)]
        expect([slashed.status, slashed.headers.get("allow")], `${method} ${path}/`).to.deep.equal([
          plain.status,
          plain.headers.get("allow"),
        ])
      }
    }
    expect((await call(bench, "OPTIONS", "/openapi.json/", { key: null })).status).to.equal(204)
    expect((await call(bench, "GET", "/openapi.json//", { key: null })).status).to.equal(404)
  })

  it("prefers a literal path to a parameter, and takes a broken escape for bad input", async () => {
    const search = await call(bench, "GET", "/v1/notes/search?q=a&q=b")
    expect(search.json["q"]).to.deep.equal(["a", "b"])
    const broken = await call(bench, "GET", "/v1/notes/%E0%A4%A")
    expect(broken.status).to.equal(400)
    expect(broken.json.details).to.include({ reason: "malformed_path" })
  })

  it("says where JSON is malformed without repeating it, and wants an object", async () => {
    const malformed = await call(bench, "POST", "/v1/notes", { body: '{"id": "x",\n "text": hunter2}' })
    expect(malformed.status).to.equal(400)
    expect(malformed.json.details).to.deep.equal({ reason: "malformed_body", offset: 21, line: 2, column: 10 })
    expect(malformed.text).not.to.contain("hunter2")
    for (const [body, kind] of [
      ["[1]", "a list"],
      ["null", "null"],
      ['"x"', "a string"],
    ] as const) {
      const answer = await call(bench, "POST", "/v1/notes", { body })
      expect(answer.status).to.equal(400)
      expect(answer.json["message"]).to.contain(kind)
    }
    const deep = await call(bench, "POST", "/v1/notes", { body: `{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}` })
    expect(deep.status).to.equal(400)
    expect(deep.json.details).to.include({ reason: "body_too_deep" })
  })

  it("refuses other types with 415 and large bodies with 413", async () => {
    const type = await call(bench, "POST", "/v1/notes", { body: "id=x", headers: { "content-type": "application/x-www-form-urlencoded" } })
    expect(type.status).to.equal(415)
    expect(type.json).to.include({ code: "invalid_argument" })
    const charset = await call(bench, "POST", "/v1/notes", { body: "{}", headers: { "content-type": "application/json; charset=latin1" } })
    expect(charset.status).to.equal(415)
    const large = await call(bench, "POST", "/v1/notes", { body: { id: "big", text: "x".repeat(1_100_000) } })
    expect(large.status).to.equal(413)
    expect(large.json).to.include({ code: "resource_exhausted" })
    const chunked = await sendChunked(bench, 1_100_000)
    expect(chunked).to.equal(413)
    const bytes = await fetch(`${bench.url}/v1/notes`, {
      method: "POST",
      headers: { authorization: "Bearer a-member", "content-type": "application/json" },
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    })
    expect([bytes.status, ((await bytes.json()) as { details: object }).details]).to.deep.equal([400, { reason: "not_utf8" }])
    const none = await call(bench, "POST", "/v1/notes")
    expect(none.json.details).to.include({ reason: "invalid_fields" })
  })

  it("refuses a field that contradicts the path, and a query where the body is read", async () => {
    const conflict = await call(bench, "PATCH", "/v1/notes/h1", { key: "a-admin", body: { id: "h2", text: "x" } })
    expect(conflict.status).to.equal(400)
    expect(conflict.json.details).to.include({ reason: "path_field_mismatch" })
    expect((await call(bench, "PATCH", "/v1/notes/h1", { key: "a-admin", body: { id: "h1", text: "same" } })).status).to.equal(200)
    for (const id of [`${"[".repeat(24_000)}${"]".repeat(24_000)}`, '{"toString":1}', '["h1"]', "null"]) {
      const strange = await call(bench, "PATCH", "/v1/notes/h1", { key: "a-admin", body: `{"id":${id},"text":"x"}` })
      expect(strange.json.details, id.slice(0, 20)).to.include({ reason: "path_field_mismatch" })
    }
    const query = await call(bench, "PATCH", "/v1/notes/h1?text=y", { key: "a-admin", body: { text: "z" } })
    expect(query.json.details).to.include({ reason: "unexpected_query" })
    expect((await call(bench, "GET", "/v1/notes/h1")).json["text"]).to.equal("same")
  })

  it("takes a well-formed X-Request-Id, mints one otherwise, and always echoes it", async () => {
    const input = await call(bench, "GET", "/v1/notes", { headers: { "x-request-id": "abc-1_2=3.4" } })
    expect(input.headers.get("x-request-id")).to.equal("abc-1_2=3.4")
    for (const bad of ["has space", "x".repeat(256), "semi;colon"]) {
      const minted = (await call(bench, "GET", "/v1/notes", { headers: { "x-request-id": bad } })).headers.get("x-request-id")
      expect(minted).to.match(/^[0-9a-f-]{36}$/)
    }
    expect((await call(bench, "GET", "/nothing", { key: null })).headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/)
  })

  it("answers HEAD like GET without a body, and conditional reads with 304", async () => {
    const get = await call(bench, "GET", "/v1/notes/h3")
    const head = await call(bench, "HEAD", "/v1/notes/h3")
    expect([head.status, head.text]).to.deep.equal([200, ""])
    expect(head.headers.get("content-length")).to.equal(String(get.text.length))
    const tag = get.headers.get("etag") ?? ""
    expect(tag).to.match(/^W\/"[\w-]+"$/)
    const same = await call(bench, "GET", "/v1/notes/h3", { headers: { "if-none-match": `"other", ${tag}` } })
    expect([same.status, same.text]).to.deep.equal([304, ""])
    await call(bench, "PATCH", "/v1/notes/h3", { key: "a-admin", body: { text: "changed" } })
    expect((await call(bench, "GET", "/v1/notes/h3", { headers: { "if-none-match": tag } })).status).to.equal(200)
    expect((await call(bench, "POST", "/v1/notes", { body: { id: "fresh", text: "t" } })).headers.get("cache-control")).to.equal("no-store")
  })

  it("answers OPTIONS, and preflights of configured origins only", async () => {
    const plain = await call(bench, "OPTIONS", "/v1/notes/h1", { key: null })
    expect([plain.status, plain.headers.get("allow")]).to.deep.equal([204, "GET, HEAD, OPTIONS, PATCH"])
    expect((await call(bench, "OPTIONS", "/V1/Notes/h1", { key: null })).status).to.equal(204)
    expect((await call(bench, "OPTIONS", "/v1/nothing", { key: null })).status).to.equal(404)
    const preflight = (origin: string) =>
      call(bench, "OPTIONS", "/v1/notes/h1", { key: null, headers: { origin, "access-control-request-method": "PATCH" } })
    const response = await preflight("https://app.example.test")
    expect(response.headers.get("access-control-allow-origin")).to.equal("https://app.example.test")
    expect(response.headers.get("access-control-allow-methods")).to.contain("PATCH")
    expect(response.headers.get("access-control-allow-headers")).to.contain("Authorization")
    const foreign = await preflight("https://evil.example.test")
    expect(foreign.headers.has("access-control-allow-origin")).to.equal(false)
    expect(foreign.headers.has("access-control-allow-methods")).to.equal(false)
    const answer = await call(bench, "GET", "/v1/notes", { headers: { origin: "https://app.example.test" } })
    expect(answer.headers.get("access-control-expose-headers")).to.contain("X-Request-Id")
    expect(answer.headers.get("vary")).to.contain("Origin")
  })

  it("packs large answers for those who can unpack them", async () => {
    const raw = (encoding: string) =>
      new Promise<string | undefined>((resolve, reject) => {
        const headers = { authorization: "Bearer a-member", "accept-encoding": encoding }
        rawRequest(`${bench.url}/v1/notes`, { headers }, (response) => {
          response.resume()
          response.on("end", () => resolve(response.headers["content-encoding"]))
        })
          .on("error", reject)
          .end()
      })
    expect(await raw("gzip")).to.equal("gzip")
    expect(await raw("identity")).to.equal(undefined)
  })

  it("says of packing what holds for GET, by HEAD and 304 too", async () => {
    const ask = (method: string, headers: Record<string, string>) =>
      new Promise<IncomingHttpHeaders>((resolve, reject) => {
        const request = rawRequest(`${bench.url}/v1/notes`, { method, headers: { authorization: "Bearer a-member", ...headers } })
        request.on("response", (response) => {
          response.resume()
          response.on("end", () => resolve(response.headers))
        })
        request.on("error", reject).end()
      })
    const gzip = { "accept-encoding": "gzip" }
    const [packed, plain] = [await ask("GET", gzip), await ask("GET", {})]
    expect([packed["content-length"], packed["content-encoding"]]).to.deep.equal([undefined, "gzip"])
    expect(await ask("HEAD", gzip)).not.to.have.property("content-length")
    expect((await ask("HEAD", {}))["content-length"]).to.equal(plain["content-length"])
    const unchanged = await ask("GET", { ...gzip, "if-none-match": packed.etag ?? "" })
    expect(unchanged.vary).to.equal(packed.vary)
    expect(unchanged.vary).to.equal("Origin, Accept-Encoding")
  })

  it("pages through a list once each, and refuses cursors that were changed or made elsewhere", async () => {
    const ids: string[] = []
    let cursor = ""
    do {
      const page = await call(bench, "GET", `/v1/notes?limit=7&cursor=${cursor}`)
      for (const note of page.json["notes"] as unknown as { id: string }[]) ids.push(note.id)
      cursor = page.json["next_cursor"] as unknown as string
    } while (cursor !== "")
    expect(ids.length).to.be.at.least(30)
    expect(new Set(ids).size).to.equal(ids.length)

    const next = (await call(bench, "GET", "/v1/notes?limit=2")).json["next_cursor"] as unknown as string
    const [body = "", mac = ""] = next.split(".")
    const forged = Buffer.from(JSON.stringify(["zzz", "zzz"])).toString("base64url")
    const wrong = [
      `${body.slice(0, -1)}${body.endsWith("A") ? "B" : "A"}.${mac}`,
      `${forged}.${mac}`,
      body,
      "garbage",
      `${next}.x`,
      `${body}.`,
    ]
    for (const value of wrong) {
      const answer = await call(bench, "GET", `/v1/notes?cursor=${encodeURIComponent(value)}`)
      expect(answer.status, value).to.equal(400)
      expect(answer.json.details).to.include({ reason: "invalid_cursor" })
    }
    expect((await call(bench, "GET", `/v1/notes?cursor=${next}&text=`)).status, "a filter with its default").to.equal(200)
    expect((await call(bench, "GET", `/v1/notes?cursor=${next}&text=other`)).json.details).to.include({ reason: "invalid_cursor" })
    expect((await call(bench, "GET", `/v1/notes?cursor=${next}`, { key: "b-member" })).json.details).to.include({
      reason: "invalid_cursor",
    })
    expect((await call(bench, "GET", "/v1/notes?limit=-1")).status).to.equal(400)
  })

  it("streams with its name and type, and only as fast as the client reads", async () => {
    const small = await call(bench, "GET", "/v1/notes-export?lines=3")
    expect(small.status).to.equal(200)
    expect(small.headers.get("content-type")).to.equal("text/csv; charset=utf-8")
    expect(small.headers.get("content-disposition")).to.equal("attachment; filename=\"n_tes.csv\"; filename*=UTF-8''n%C3%B6tes.csv")
    expect(small.text.split("\n").length).to.equal(4)

    bench.stage.produced = 0
    bench.stage.finished = false
    const abort = new AbortController()
    const headers = { authorization: "Bearer a-member", "accept-encoding": "identity" }
    const response = await fetch(`${bench.url}/v1/notes-export?lines=200000`, { headers, signal: abort.signal })
    await response.body?.getReader().read()
    let last = -1
    while (last !== bench.stage.produced) {
      last = bench.stage.produced
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    expect(bench.stage.produced, "lines made for a client that does not read").to.be.below(100_000)
    abort.abort()
    await until("the stream being ended", () => bench.stage.finished)
    expect(bench.stage.produced).to.be.below(100_000)
  })

  it("answers a stream that fails at once with an error, and cuts one that fails later", async () => {
    const early = await call(bench, "GET", "/v1/notes-export?lines=3&fail_at=0")
    expect(early.status).to.equal(503)
    expect(early.json).to.include({ code: "unavailable" })
    const late = await call(bench, "GET", "/v1/notes-export?lines=3000&fail_at=2000").then(
      () => "whole",
      () => "cut",
    )
    expect(late).to.equal("cut")
    bench.stage.produced = 0
    expect((await call(bench, "HEAD", "/v1/notes-export?lines=3")).status).to.equal(200)
    expect(bench.stage.produced).to.equal(0)
  })

  it("answers probes and metrics without a credential", async () => {
    expect((await call(bench, "GET", "/healthz", { key: null })).json).to.deep.equal({ status: "ok" })
    expect((await call(bench, "GET", "/readyz", { key: null })).json).to.deep.equal({ status: "ready" })
    const metrics = await call(bench, "GET", "/metrics", { key: null })
    expect(metrics.headers.get("content-type")).to.contain("text/plain")
    expect(metrics.text).to.contain('millrace_http_request_seconds_count{operation="notes.list",method="GET",status="200"}')
  })

  it("serves an OpenAPI document that names every operation", async () => {
    const { json, status } = await call(bench, "GET", "/openapi.json", { key: null })
    expect(status).to.equal(200)
    const document = json as unknown as {
      openapi: string
      info: { version: string }
      paths: Record<
        string,
        Record<
          string,
          { operationId: string; requestBody?: unknown; responses: Record<string, unknown>; parameters: { name?: string; $ref?: string }[] }
        >
      >
      components: { schemas: Record<string, { required?: string[] }> }
    }
    expect([document.openapi, document.info.version]).to.deep.equal(["3.1.0", "2026-09-29"])
    const ids = Object.values(document.paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
    expect(ids).to.have.members(["inbound.receive", ...bench.operations.map(({ name }) => name)])
    const create = document.paths["/v1/notes"]?.["post"]
    expect(create?.requestBody).to.deep.equal({
      required: true,
      content: {
        "application/json": { schema: { $ref: "#/components/schemas/NotesCreateBody" }, example: { id: "example", text: "example" } },
      },
    })
    expect(create?.responses).to.include.keys("201", "400", "401", "403", "409", "413", "415", "429")
    expect(create?.parameters).to.deep.include({ $ref: "#/components/parameters/IdempotencyKey" })
    expect(document.paths["/v1/notes/{id}"]?.["patch"]?.parameters.map(({ name }) => name)).to.include("id")
    expect(document.components.schemas["NotesUpdateBody"]?.required).to.deep.equal(["text"])
    const names = new Set(Object.keys(document.components.schemas))
    const referred = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/([^"]+)/g)].map(([, name]) => name ?? "")
    expect(referred.filter((name) => !names.has(name))).to.deep.equal([])
    expect(JSON.stringify(document)).not.to.contain("#/$defs")
    expect((await call(bench, "POST", "/openapi.json", { key: null, body: {} })).status).to.equal(405)
  })
})

describe("the place where JSON goes wrong", () => {
  const cases: [text: string, offset: number][] = [
    ["", 0],
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ["[1,2", 4],
    ["[1 2]", 3],
    ["{} x", 3],
    ['{"a":01}', 6],
    ["{a:1}", 1],
    ['["\\x"]', 2],
    ['{"a":"b\nc"}', 7],
    ["[1,]", 3],
  ]
  for (const [text, offset] of cases) {
    it(`of ${JSON.stringify(text)} is ${offset}`, () => {
      expect(() => JSON.parse(text)).to.throw(SyntaxError)
      expect(jsonFault(text).offset).to.equal(offset)
    })
  }
})

describe("the place where JSON goes wrong, in JSON that is right", () => {
  it("is its end", () => {
    fc.assert(fc.property(fc.json(), (text) => jsonFault(text).offset === text.length))
  })
})

function sendChunked(bench: SurfaceBench, bytes: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: "Bearer a-member", "content-type": "application/json", "transfer-encoding": "chunked" }
    const request = rawRequest(`${bench.url}/v1/notes`, { method: "POST", headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on("error", reject)
    request.end(Buffer.alloc(bytes, "x"))
  })
}
