// Pipeline files during development: a valid change is live at once; an invalid change is reported and the previous version
// stays.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { z } from "zod"
import { defineAction, definePlugin } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { runningMs } from "../../slowness.ts"
import { expectWithin } from "../../tier.ts"
import { until } from "../../waiting.ts"

const document = (status: number) => `name: Watched\nstate: active\nauth_mode: none\npipeline: [{ type: respond, status: ${status} }]\n`

interface Wire {
  readonly inbound_url: string
  readonly revision: number
}

describe("watched pipeline files", () => {
  let folder: string
  let host: TestHost
  let file: string
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-watched-"))
    file = join(folder, "watched.yaml")
    writeFileSync(file, document(201))
    host = await testHost({ env: { MILLRACE_PIPELINES_PATHS: folder, MILLRACE_PIPELINES_WATCH: "true" } })
  })
  after(async () => {
    await host.stop()
    rmSync(folder, { recursive: true })
  })

  const pipeline = async () => (await host.api<Wire>("GET", "/v1/event-pipelines/watched")).body

  it("has a valid change live within a second", async () => {
    const wire = await pipeline()
    expect((await host.send(wire, {})).status).to.equal(201)
    writeFileSync(file, document(202))
    const took = await runningMs(() => until("202 from the changed file", async () => (await host.send(wire, {})).status === 202))
    expectWithin(1_000, took, "a change going live")
    expect((await pipeline()).revision).to.equal(wire.revision + 1)
  })

  it("reports an invalid one with its line, and goes on with what was there", async () => {
    const before = await pipeline()
    writeFileSync(file, `${document(203)}pipelnie: []\n`)
    await until("the refusal being logged", () => host.logged.some((line) => line.includes("is not valid, and the previous version stays")))
    const [warning = ""] = host.logged.filter((line) => line.includes("the previous version stays"))
    expect(warning).to.match(/watched\.yaml:5:1: .*pipelnie/)
    expect((await host.send(before, {})).status).to.equal(202)
    expect(await pipeline()).to.deep.equal(before)
    writeFileSync(file, document(203))
    await until("203 from the mended file", async () => (await host.send(before, {})).status === 203)
  })

  it("takes a new file, and neither a test nor an editor's own", async () => {
    writeFileSync(join(folder, "other.test.yaml"), "tests: []\n")
    writeFileSync(join(folder, ".other.yaml.swp"), "no yaml: [")
    symlinkSync("me@host.1:2", join(folder, ".#other.yaml"))
    writeFileSync(join(folder, "other.yaml"), "name: Other\nauth_mode: none\n")
    await until("the new file being applied", async () => (await host.api("GET", "/v1/event-pipelines/other")).status === 200)
    const { body } = await host.api<{ event_pipelines: object[] }>("GET", "/v1/event-pipelines")
    expect(body.event_pipelines).to.have.length(2)
    expect(host.logged.filter((line) => line.includes("the previous version stays"))).to.have.length(1)
    expect(host.logged.filter((line) => line.includes("ENOENT"))).to.deep.equal([])
  })

  it("misses no change that is made while it starts", async () => {
    const own = mkdtempSync(join(tmpdir(), "millrace-watched-"))
    const early = join(own, "early.yaml")
    let saved = false
    const saves = defineAction({
      type: "editor.saves",
      summary: "Changes its own file when it is compiled, which is after it was read.",
      timing: "commit",
      config: z.strictObject({}),
      result: z.null(),
      examples: [],
      lint() {
        if (!saved) writeFileSync(early, document(202).replace("Watched", "Early"))
        saved = true
        return []
      },
      run: () => null,
    })
    const editor = definePlugin({ id: "editor", config: z.strictObject({}), register: (registrar) => registrar.actions(saves) })
    writeFileSync(early, "name: Early\nstate: active\nauth_mode: none\npipeline: [{ type: editor.saves }]\n")
    const env = { MILLRACE_PIPELINES_PATHS: own, MILLRACE_PIPELINES_WATCH: "true" }
    const started = await testHost({ plugins: [editor as never], env })
    try {
      expect(saved).to.equal(true)
      const { body: wire } = await started.api<Wire>("GET", "/v1/event-pipelines/early")
      await until("the change made during the start", async () => (await started.send(wire, {})).status === 202)
    } finally {
      await started.stop()
      rmSync(own, { recursive: true })
    }
  })

  it("starts beside an invalid file, reports it, and has it live within a second once it is mended", async () => {
    const own = mkdtempSync(join(tmpdir(), "millrace-watched-"))
    writeFileSync(join(own, "good.yaml"), document(201).replace("Watched", "Good"))
    writeFileSync(join(own, "bad.yaml"), `${document(201)}pipelnie: []\n`)
    const started = await testHost({ env: { MILLRACE_PIPELINES_PATHS: own, MILLRACE_PIPELINES_WATCH: "true" } })
    try {
      expect((await started.api("GET", "/v1/event-pipelines/good")).status).to.equal(200)
      expect((await started.api("GET", "/v1/event-pipelines/watched")).status).to.equal(404)
      expect(started.logged.filter((line) => /bad\.yaml:5:1: .*pipelnie.*bad\.yaml is not valid/.test(line))).to.have.length(1)
      writeFileSync(join(own, "bad.yaml"), document(202))
      const took = await runningMs(() =>
        until("the mended file being applied", async () => (await started.api("GET", "/v1/event-pipelines/watched")).status === 200),
      )
      expectWithin(1_000, took, "a mended file going live")
    } finally {
      await started.stop()
      rmSync(own, { recursive: true })
    }
  })
})
