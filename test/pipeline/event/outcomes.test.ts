// Every outcome of an event: the sender's answer, the journal entry, and no other traces.
import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import type { Json } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { leastProcessorMs } from "../../slowness.ts"
import { until } from "../../waiting.ts"
import { answered, Bench, type Made, post } from "../bench.ts"
import { outsideWorld } from "../outside-world.ts"
import { onStoresInTurn } from "../stores.ts"

const proofSecret = "correct-horse-SECRET-77"

onStoresInTurn("what becomes of an event", ({ start }) => {
  let host: TestHost
  let bench: Bench
  let signed: Made
  let open: Made
  before(async () => {
    host = await start()
    bench = new Bench(host)
    signed = await bench.make({
      name: "Signed",
      auth_mode: "hmac_sha256",
      auth_config: { secret: proofSecret, require_timestamp: true },
      pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "signed" }],
    })
    open = await bench.make({
      name: "Open",
      request_schema: {
        type: "object",
        required: ["email", "age"],
        properties: { email: { type: "string" }, age: { type: "integer", minimum: 0 } },
      },
      transform_js: `function transform(event) {
        if (event.boom) throw new Error("no such person")
        if (event.forever) for (;;) {}
        if (event.odd) return 42
        return event.nothing ? null : event
      }`,
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "people", row: { email: "{{ event.email }}", age: "{{ event.age }}" } },
        { id: "tell", type: "live.broadcast", channel: "people" },
        { id: "mail", type: "email.send", to: "a@acme.test", heading: "Hello" },
        { id: "bad", type: "live.broadcast", when: "event.fails", needs: ["save"], channel: "{{ event.channel }}" },
      ],
    })
  })

  const sign = (body: string, at = Math.floor(Date.now() / 1_000), secret = proofSecret) => ({
    "x-signature-timestamp": String(at),
    "x-signature-256": `sha256=${createHmac("sha256", secret).update(`${at}.${body}`).digest("hex")}`,
  })
  /** Runs it and returns the growth of the books. */
  const growth = async (run: () => Promise<unknown>) => {
    const before = await bench.books()
    await run()
    const after = await bench.books()
    return Object.fromEntries(
      Object.entries(after).flatMap(([name, count]) => (count === before[name as "rows"] ? [] : [[name, count - before[name as "rows"]]])),
    )
  }

  it("accepts what is verified and valid: 200, the default body, an entry", async () => {
    const body = '{"n":1}'
    const answer = await post(signed.inbound_url, body, sign(body))
    expect(answer.status).to.equal(200)
    const entry = await bench.newest("signed")
    expect(answer.body).to.deep.equal({ status: "accepted", execution_id: entry.id })
    expect(entry.verdict).to.include({ ok: true, mode: "hmac_sha256", cause: "" })
    expect(entry).to.include({ status: "accepted", cause: "" })
    expect(JSON.stringify(entry)).not.to.include(proofSecret).and.not.to.include("sha256=")
  })

  const unverified: [string, string, (body: string) => Record<string, string>][] = [
    ["another secret", "wrong_secret", (body) => sign(body, undefined, "another-secret")],
    ["a stale timestamp", "timestamp_too_old", (body) => sign(body, Math.floor(Date.now() / 1_000) - 3_600)],
    ["a timestamp from the future", "timestamp_in_future", (body) => sign(body, Math.floor(Date.now() / 1_000) + 3_600)],
    ["no signature", "missing_header", () => ({})],
  ]
  for (const [title, cause, headers] of unverified) {
    it(`rejects ${title} with 401 and no hint, keeps no payload, and shows what came without secrets`, async () => {
      const body = '{"password":"hunter2","n":1,"is_test":true}'
      let answer = { status: 0, text: "", body: {} as Record<string, unknown> }
      const grown = await growth(async () => {
        answer = await post(signed.inbound_url, body, headers(body))
      })
      expect(answer.status).to.equal(401)
      expect(answer.body).to.deep.equal({
        code: "unauthenticated",
        message: "The event could not be verified.",
        details: { reason: "unverified" },
      })
      const entry = await bench.newest("signed")
      expect([entry.status, entry.cause, entry.verdict.cause]).to.deep.equal(["rejected", cause, cause])
      expect(JSON.stringify(entry)).not.to.include("hunter2")
      expect(JSON.parse(entry.payload_preview)).to.deep.equal({ password: "[redacted]", n: 1, is_test: true })
      expect(entry.is_test).to.equal(true)
      expect(grown).to.deep.equal({ entries: 1 })
    })
  }

  it("points to the property that is missing, however deep, and that is too many", async () => {
    const { inbound_url } = await bench.make({
      name: "Missing",
      request_schema: {
        type: "object",
        required: ["email"],
        properties: { payload: { type: "object", required: ["a/b"], additionalProperties: false, properties: { "a/b": {} } } },
      },
    })
    const answer = await post(inbound_url, { payload: { more: 1 } })
    expect(answer.status).to.equal(400)
    const { fields } = (answer.body as { details: { fields: { path: string; message: string }[] } }).details
    expect(fields.map(({ path }) => path).sort()).to.deep.equal(["/email", "/payload/a~1b", "/payload/more"])
    expect(fields.find(({ path }) => path === "/email")?.message).to.equal("is required")
  })

  it("rejects against the schema with pointers, and can run it again later", async () => {
    let answer = { status: 0, text: "", body: {} as { code?: string; details?: { fields?: { path: string }[] } } }
    const grown = await growth(async () => {
      answer = await post(open.inbound_url, { email: 5, age: -1 })
    })
    expect([answer.status, answer.body.code]).to.deep.equal([400, "invalid_argument"])
    expect(answer.body.details?.fields?.map(({ path }) => path).sort()).to.deep.equal(["/age", "/email"])
    const entry = await bench.newest("open")
    expect(entry).to.include({ status: "rejected", cause: "schema_mismatch" })
    expect(entry.schema_errors.map(({ pointer }) => pointer).sort()).to.deep.equal(["/age", "/email"])
    expect(grown).to.deep.equal({ entries: 1, payloads: 1 })
  })

  const malformed: [string, string | Uint8Array, string, number, string][] = [
    ["JSON that is cut short", '{"email":', "application/json", 400, "malformed_body"],
    ["an empty body", "", "application/json", 400, "empty_body"],
    ["bytes that are neither UTF-8 nor JSON", new Uint8Array([0x22, 0xff]), "application/json", 400, "malformed_body"],
    ["a list where an object is needed", "[1]", "application/json", 400, "schema_mismatch"],
    ["an image", "GIF89a", "image/gif", 415, "unsupported_content_type"],
    ["XML", "<a/>", "application/xml", 415, "unsupported_content_type"],
  ]
  for (const [title, body, type, status, cause] of malformed) {
    it(`rejects ${title} with ${status}`, async () => {
      let answer = { status: 0, body: {} as { code?: string; details?: { reason?: string } } }
      const grown = await growth(async () => {
        answer = await post(open.inbound_url, body, { "content-type": type, "x-api-key": "key-SECRET-1" })
      })
      expect([answer.status, answer.body.code, answer.body.details?.reason]).to.deep.equal([status, "invalid_argument", cause])
      const entry = await bench.newest("open")
      expect([entry.status, entry.cause, entry.response?.status]).to.deep.equal(["rejected", cause, status])
      expect(grown).to.deep.include({ entries: 1 }).and.not.to.have.any.keys("rows", "jobs", "messages")
      if (status !== 415) return
      expect(JSON.parse(entry.payload_preview)).to.have.all.keys("headers", "size")
      expect(entry.payload_preview).not.to.include("SECRET").and.not.to.include("GIF89a")
    })
  }

  it("refuses a form of half a million fields without taking it apart", async () => {
    const took = await leastProcessorMs(1_000, async () => {
      const answer = await post(open.inbound_url, "a&".repeat(500_000), { "content-type": "application/x-www-form-urlencoded" })
      expect([answer.status, answer.body.details?.reason]).to.deep.equal([400, "too_many_fields"])
    })
    expect((await bench.newest("open")).cause).to.equal("too_many_fields")
    expect(took).to.be.below(1_000)
  })

  it("refuses a file in a form, and an unknown encoding, with 415", async () => {
    const form = new FormData()
    form.set("email", "a@b.test")
    form.set("photo", new Blob(["x"]), "x.png")
    const file = await answered(await fetch(open.inbound_url, { method: "POST", body: form }))
    expect([file.status, file.body.details.reason]).to.deep.equal([415, "unsupported_content_type"])
    const zipped = await post(open.inbound_url, "{}", { "content-encoding": "zstd" })
    expect([zipped.status, zipped.body.details.reason]).to.deep.equal([415, "unsupported_content_encoding"])
    expect((await bench.newest("open")).cause).to.equal("unsupported_content_encoding")
  })

  it("refuses 2 MiB with 413, announced or not; the entry holds headers and size only", async () => {
    const large = Buffer.alloc(2 * 1_024 * 1_024, 0x61)
    const announced = await post(signed.inbound_url, large, { "x-webhook-secret": "SECRET-2" }).catch(() => undefined)
    const chunked = async function* () {
      for (let i = 0; i < 32; i++) yield large.subarray(0, 65_536)
    }
    const streamed = await fetch(signed.inbound_url, {
      method: "POST",
      body: chunked() as unknown as ReadableStream,
      duplex: "half",
      headers: { "content-type": "application/json", "x-webhook-secret": "SECRET-2" },
    } as RequestInit)
    expect(streamed.status).to.equal(413)
    if (announced) expect([announced.status, announced.body.code]).to.deep.equal([413, "resource_exhausted"])
    const entry = await bench.newest("signed")
    expect([entry.status, entry.cause, entry.response?.status]).to.deep.equal(["rejected", "body_too_large", 413])
    expect(JSON.parse(entry.payload_preview)).to.have.all.keys("headers", "size")
    expect(entry.payload_preview).not.to.include("SECRET").and.not.to.include("aaaa")
  })

  const broken: [string, object, string][] = [
    ["throws", { boom: true }, "transform_threw"],
    ["runs forever", { forever: true }, "transform_timeout"],
    ["returns what is not an event", { odd: true }, "transform_result"],
  ]
  for (const [title, flags, cause] of broken) {
    it(`fails with 400, the cause and no internals where the transform ${title}`, async () => {
      let answer = { status: 0, body: {} as { code?: string; details?: Record<string, unknown> } }
      const grown = await growth(async () => {
        answer = await post(open.inbound_url, { email: "a@b.test", age: 1, ...flags })
      })
      const entry = await bench.newest("open")
      expect([answer.status, answer.body.code]).to.deep.equal([400, "failed_precondition"])
      expect(answer.body.details).to.deep.equal({ reason: cause, execution_id: entry.id })
      if (flags === broken[0]?.[1]) expect(entry.error?.message).to.include("no such person").and.include("line 2")
      expect([entry.status, entry.cause]).to.deep.equal(["failed", cause])
      expect(grown).to.deep.equal({ entries: 1, payloads: 1 })
    })
  }

  it("accepts an event of which the transform makes nothing, and does nothing", async () => {
    let answer = { status: 0 }
    const grown = await growth(async () => {
      answer = await post(open.inbound_url, { email: "a@b.test", age: 1, nothing: true })
    })
    expect(answer.status).to.equal(200)
    expect(await bench.newest("open")).to.deep.include({ status: "accepted", steps: {}, rows: [] })
    expect(grown).to.deep.equal({ entries: 1, payloads: 1 })
  })

  it("fails with 400 where the event holds what no step takes: the step is named, no internals, and all it staged is dropped", async () => {
    let answer = { status: 0, text: "", body: {} as { code?: string; details?: Record<string, unknown> } }
    const grown = await growth(async () => {
      answer = await post(open.inbound_url, { email: "a@b.test", age: 1, fails: true, channel: "not a channel!" })
    })
    const entry = await bench.newest("open")
    expect([answer.status, answer.body.code]).to.deep.equal([400, "failed_precondition"])
    expect(answer.body.details).to.deep.equal({ execution_id: entry.id, step: "bad", reason: "event_refused" })
    expect(entry).to.deep.include({ status: "failed", cause: "action_failed", rows: [] })
    expect(entry.error?.step).to.equal("bad")
    expect(entry.steps["save"]?.state).to.equal("done")
    expect(grown).to.deep.equal({ entries: 1, payloads: 1 })
  })

  it("fails with 400 where the event holds what no answer can: the entry says why, and nothing else is left", async () => {
    const pipeline = await bench.make({
      name: "Answering",
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "people", row: { email: "{{ event.email }}" } },
        { id: "say", type: "respond", headers: { "X-Note": "{{ event.note }}" } },
      ],
    })
    for (const note of ["a\r\nSet-Cookie: a=b", "a\nb", "世界"]) {
      let answer = { status: 0, body: {} as { code?: string; details?: object } }
      const grown = await growth(async () => {
        answer = await post(pipeline.inbound_url, { email: "a@b.test", note })
      })
      const entry = await bench.newest(pipeline.slug)
      const details = { execution_id: entry.id, step: "say", reason: "reply_refused" }
      expect([answer.status, answer.body.code, answer.body.details]).to.deep.equal([400, "failed_precondition", details])
      expect(entry).to.deep.include({ status: "failed", cause: "action_failed", rows: [] })
      expect(entry.error?.message).to.include("X-Note").and.not.to.include("Set-Cookie")
      // The payload is stored, so the event can be replayed after a fix of the pipeline.
      expect(grown).to.deep.equal({ entries: 1, payloads: 1 })
    }
  })

  it("answers 404 for an unknown endpoint, a disabled and a proposed pipeline; counted, not journalled", async () => {
    const proposed = await bench.make({ name: "Proposed", state: "proposed" })
    const disabled = await bench.make({ name: "Disabled", state: "disabled" })
    const grown = await growth(async () => {
      const unknown = `${host.url}/v1/inbound/in_0000000000000000000000`
      for (const url of [unknown, proposed.inbound_url, disabled.inbound_url]) {
        const answer = await post(url, {})
        expect([answer.status, answer.body.code]).to.deep.equal([404, "not_found"])
      }
      expect((await post(proposed.inbound_url, "x".repeat(1_200_000))).status).to.equal(404)
      for (const url of [unknown, proposed.inbound_url, disabled.inbound_url])
        expect((await fetch(url, { method: "OPTIONS" })).status).to.equal(404)
    })
    expect(grown).to.deep.equal({})
    const metrics = await (await fetch(`${host.url}/metrics`)).text()
    expect(metrics).to.match(/^millrace_inbound_not_found_total 7$/m)
    expect(metrics).to.match(/^millrace_events_total\{status="accepted",cause="",pipeline="[0-9a-f-]{36}"\} [1-9]/m)
    expect(metrics).to.match(/^millrace_events_total\{status="rejected",cause="schema_mismatch",pipeline="[0-9a-f-]{36}"\} 2$/m)
  })

  it("answers everything with the id of its request: the sender's own, or a minted one", async () => {
    const exposing = await bench.make({
      name: "Exposing",
      pipeline: [{ type: "respond", headers: { "X-Own": "1", "Access-Control-Expose-Headers": "X-Own" } }],
    })
    const unknown = `${host.url}/v1/inbound/in_0000000000000000000000`
    const minted = new Set<string | null>()
    for (const [url, method, status] of [
      [exposing.inbound_url, "POST", 200],
      [signed.inbound_url, "POST", 401],
      [open.inbound_url, "POST", 400],
      [open.inbound_url, "OPTIONS", 204],
      [open.inbound_url, "GET", 405],
      [unknown, "POST", 404],
    ] as const) {
      const send = async (input: Record<string, string>) => {
        const answer = await fetch(url, { method, headers: input, ...(method === "POST" ? { body: "{}" } : {}) })
        expect(answer.status, `${method} ${url}`).to.equal(status)
        return answer.headers.get("x-request-id")
      }
      expect(await send({ "x-request-id": "abc-1_2=3.4" })).to.equal("abc-1_2=3.4")
      for (const bad of [{}, { "x-request-id": "has space" }, { "x-request-id": "x".repeat(256) }]) {
        const id = await send(bad)
        expect(id).to.match(/^[0-9a-f-]{36}$/)
        minted.add(id)
      }
    }
    expect(minted.size).to.equal(18)
    const answer = await post(exposing.inbound_url, {}, { origin: "https://acme.test" })
    expect(answer.headers.get("access-control-expose-headers")).to.equal("x-request-id, retry-after, X-Own")
  })

  it("takes events by POST only", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const answer = await fetch(open.inbound_url, { method })
      expect([method, answer.status, answer.headers.get("allow")]).to.deep.equal([method, 405, "POST, OPTIONS"])
    }
  })
})

describe("an overloaded service", () => {
  let dataDir: string
  before(() => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-overload-"))
  })
  after(() => rmSync(dataDir, { recursive: true, force: true }))

  it("answers 429 with Retry-After, and counts what it turned away in one entry a minute", async () => {
    const world = outsideWorld()
    const released = Promise.withResolvers<Json>()
    world.answer = () => released.promise
    const host = await testHost({ dataDir, plugins: [world.plugin], env: { MILLRACE_INBOUND_MAX_IN_FLIGHT: "1" } })
    const act = { id: "act", type: "world.act", says: "hello", await: true, timeout_ms: 600_000 }
    const pipeline = await new Bench(host).make({ name: "Busy", pipeline: [act] })
    const pending = post(pipeline.inbound_url, { n: 1 })
    await until("the one event that is taken being in flight", () => world.acts.length === 1)
    const refused = await Promise.all(Array.from({ length: 40 }, () => post(pipeline.inbound_url, { n: 1 })))
    released.resolve({ done: true })
    expect((await pending).status).to.equal(200)
    await host.stop()
    for (const { status, body, headers } of refused)
      expect([status, body.code, headers.get("retry-after")]).to.deep.equal([429, "resource_exhausted", "1"])
    const again = await testHost({ dataDir, plugins: [outsideWorld().plugin] })
    try {
      const folded = await new Bench(again).entries("busy", "?status=rejected")
      expect(folded.reduce((sum, { count }) => sum + count, 0)).to.equal(refused.length)
      expect(new Set(folded.map(({ cause }) => cause))).to.deep.equal(new Set(["too_many"]))
      expect(folded.length).to.be.lessThan(3)
    } finally {
      await again.stop()
    }
  })
})
