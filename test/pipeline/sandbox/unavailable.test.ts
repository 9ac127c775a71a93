// A machine on which no sandbox process can start. No pipeline is blamed, no answer reveals details of the machine, and the
// sandbox recovers by itself.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { isDue } from "../../tier.ts"
import { until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"

const node = process.execPath

describe("a sandbox that cannot start", () => {
  let folder: string
  let dataDir: string
  let host: TestHost
  let broken: string
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-broken-"))
    dataDir = mkdtempSync(join(tmpdir(), "millrace-test-"))
    broken = join(folder, "node")
    writeFileSync(broken, `#!/bin/sh\necho "error while loading shared libraries of ${folder}" >&2\nexit 127\n`)
    chmodSync(broken, 0o755)
    host = await testHost({ dataDir, ownSandbox: true })
  })
  afterEach(() => {
    process.execPath = node
  })
  after(async () => {
    await host.stop()
    for (const item of [folder, dataDir]) rmSync(item, { recursive: true, force: true })
  })

  const documentOf = (name: string) => ({
    name,
    state: "active",
    auth_mode: "none",
    request_schema: { type: "object", title: name },
    // Such an event costs the process: only this stops a native call.
    transform_js: "function transform(event) { return event.bomb ? { at: [].indexOf.call({ length: 2 ** 53 - 1 }, 1) } : event }",
    pipeline: [{ type: "respond", body: { n: "{{ event.n }}" } }],
  })
  const calls: Record<string, (name: string) => readonly [string, string, object]> = {
    "checking a document": (name) => ["POST", "/v1/event-pipelines/validate", { document: documentOf(name) }],
    "saving one": (name) => ["POST", "/v1/event-pipelines", documentOf(name)],
    "planning to apply one": (name) => [
      "POST",
      "/v1/event-pipelines/plan",
      { documents: [{ path: "a.yaml", document: documentOf(name) }] },
    ],
  }
  const programs = { "that exits at once": () => broken, "that is not there": () => join(folder, "nothing") }

  for (const [at, [what, call]] of Object.entries(calls).entries()) {
    for (const [which, program] of Object.entries(programs).filter((_, program) => isDue(program === at % 2))) {
      it(`is not a fault of the document: ${what}, with a program ${which}`, async () => {
        const [method, path, body] = call(`${what} ${which}`)
        process.execPath = program()
        // Not with a process of an earlier test.
        host.clock.move(30_000)
        const { status, headers, body: answer } = await host.api<{ details: object }>(method as "POST", path, body)
        expect([status, answer.details], JSON.stringify(answer)).to.deep.equal([503, { reason: "sandbox_unavailable" }])
        expect(headers.get("retry-after")).to.equal("1")
        expect(JSON.stringify(answer))
          .not.to.include(folder)
          .and.not.to.match(/\.ts|node|exit/)
        expect(host.logged.filter((line) => line.includes(folder))).not.to.deep.equal([])
        const { body: page } = await host.api<{ event_pipelines: unknown[] }>("GET", "/v1/event-pipelines")
        expect(page.event_pipelines).to.deep.equal([])
        process.execPath = node
        expect((await host.api("POST", "/v1/event-pipelines/validate", { document: body })).status).to.equal(200)
      })
    }
  }

  it("answers events 503, keeps nothing of them, and takes them when it is back", async () => {
    const bench = new Bench(host)
    const pipeline = await bench.make(documentOf("Events"))
    const bombs = [await bench.make(documentOf("First")), await bench.make(documentOf("Second"))]
    expect((await post(pipeline.inbound_url, { n: 1 })).status).to.equal(200)
    process.execPath = broken
    // The active process and a possible spare.
    for (const { inbound_url } of bombs) await post(inbound_url, { bomb: true })
    let before = await bench.books()
    const refused = await until("a refusal", async () => {
      before = await bench.books()
      const answer = await post(pipeline.inbound_url, { n: 2 })
      return answer.status === 503 ? answer : undefined
    })
    expect(refused.body.details).to.deep.equal({ reason: "sandbox_unavailable" })
    expect(refused.headers.get("retry-after")).to.equal("1")
    expect(refused.text).not.to.include(folder)
    expect(await bench.books()).to.deep.equal(before)
    process.execPath = node
    const reply = await until("an event that is taken again", async () => {
      const answer = await post(pipeline.inbound_url, { n: 3 })
      return answer.status === 200 ? answer : undefined
    })
    expect(reply.body).to.deep.equal({ n: 3 })
  })

  it("leaves a stored pipeline that it cannot compile at its address, for events to be sent again", async () => {
    const bench = new Bench(host)
    const pipeline = await bench.make(documentOf("Stored"))
    await host.stop()
    rmSync(join(dataDir, "cache"), { recursive: true, force: true })
    host = await testHost({ dataDir, ownSandbox: true })
    const again = (await host.api<{ inbound_url: string }>("GET", `/v1/event-pipelines/${pipeline.slug}`)).body.inbound_url
    process.execPath = broken
    const refused = await post(again, { n: 1 })
    expect([refused.status, refused.body.details, refused.headers.get("retry-after")]).to.deep.equal([
      503,
      { reason: "sandbox_unavailable" },
      "1",
    ])
    process.execPath = node
    expect((await post(again, { n: 1 })).body).to.deep.equal({ n: 1 })
  })
})
