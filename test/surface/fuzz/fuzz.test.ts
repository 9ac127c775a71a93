// Hostile requests to the inbound endpoints of a service process. MILLRACE_TEST_INPUTS sets their number.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { residentMb } from "../../crash/under-load.ts"
import { expectShortTurn, leastTurn } from "../../longest-turn.ts"
import { byTier, isSoak, seed } from "../../tier.ts"
import { fuzz } from "./fuzz.ts"
import type { Endpoint } from "./inputs.ts"

const inputs = Number(process.env["MILLRACE_TEST_INPUTS"] ?? byTier({ fast: 1_500, slow: 20_000, soak: 10_000_000 }))
/** The caches are full after this many inputs. */
const warmInputs = 200_000
const maxGrowthMb = 64

describe("inbound path", () => {
  const folder = freshFolder()
  let service: ServiceProcess
  let endpoints: Endpoint[]
  before(async () => {
    service = await startService({
      dataDir: folder.path,
      faults: [new URL("./turns.ts", import.meta.url).href],
      env: { MILLRACE_RATE_LIMITS_ADDRESS_PER_MINUTE: "100000000" },
    })
    endpoints = await makeEndpoints(service, folder.path)
  })
  after(async () => {
    await service.kill()
    folder.remove()
  })

  it("answers hostile requests without an exit, a 5xx, a long turn or growing memory", async function () {
    if (isSoak) this.timeout(0)
    let completed = 0
    let warmMb = 0
    let isOver = false
    service.ended().then(
      () => (isOver = true),
      () => (isOver = true),
    )
    const port = Number(new URL(service.url).port)
    const goesOn = () => {
      completed += 24
      if (warmMb === 0 && completed > warmInputs) warmMb = residentMb(service.pid)
      return !isOver
    }
    const { milliseconds } = await leastTurn(async () => {
      service.signal("SIGUSR2")
      const report = await fuzz({ port, endpoints, seed, inputs, goesOn })
      expect(isOver, service.output()).to.equal(false)
      expect(report.failures).to.deep.equal([])
      expect([...report.statuses.keys()].filter((status) => status >= 500)).to.deep.equal([])
      expect(service.output()).not.to.match(/"level":(50|60)/)
      const turns = turnsOf(folder.path)
      const counts = [...report.statuses].sort().map(([status, count]) => `${status}: ${count}`)
      if (isSoak || inputs > 10_000)
        console.log(`  ${report.inputs} inputs, ${counts.join(", ")}; longest turns ${turns.slice(0, 5).map(Math.round)} ms`)
      return { milliseconds: turns[0] ?? 0, value: undefined }
    })
    expectShortTurn(milliseconds)
    const nowMb = residentMb(service.pid)
    if (isSoak) console.log(`  ${warmMb} to ${nowMb} MiB`)
    if (warmMb > 0) expect(nowMb - warmMb, "growth of memory, MiB").to.be.below(maxGrowthMb)
    expect((await fetch(`${service.url}/healthz`)).status).to.equal(200)
  })
})

function turnsOf(folder: string): number[] {
  const path = join(folder, "turns.json")
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as number[]) : []
}

async function makeEndpoints(service: ServiceProcess, dataDir: string): Promise<Endpoint[]> {
  const api = apiOf(service, dataDir)
  const request_schema = { type: "object", required: ["email"], properties: { email: { type: "string" } } }
  const save = [{ id: "save", type: "dataset.write", dataset_slug: "fuzzed" }]
  const documents = [
    { name: "Open", auth_mode: "none", pipeline: [] },
    {
      name: "Checked",
      auth_mode: "none",
      request_schema,
      transform_js: "function transform(event) { return { email: event.email } }",
      pipeline: [],
    },
    { name: "Stored", auth_mode: "none", pipeline: save },
    { name: "Signed", auth_mode: "hmac_sha256", auth_config: { secret: "correct-horse-SECRET-77" }, pipeline: [] },
    { name: "Viewer", auth_mode: "authenticated_viewer", pipeline: [] },
  ]
  const paths: string[] = []
  for (const document of documents) {
    const { inbound_url } = await api<{ inbound_url: string }>("POST", "/v1/event-pipelines", { state: "active", ...document })
    paths.push(new URL(inbound_url).pathname)
  }
  const html = '<form enctype="multipart/form-data"><input name="email"><input type="file" name="cv"></form>'
  const variants = [{ key: "control", weight: 1, html }]
  const page = await api<{ id: string; slug: string; url: string }>("POST", "/v1/pages", { title: "Jobs", variants })
  await api("POST", `/v1/pages/${page.slug}/publish`, {})
  const form = { name: "Form", state: "active", source_kind: "browser_form", auth_mode: "public_artifact", owner_artifact_id: page.id }
  await api("POST", "/v1/event-pipelines", { ...form, pipeline: save })
  return [...paths, new URL(page.url).pathname, "/v1/inbound/unknown"].map((path) => ({ path }))
}
