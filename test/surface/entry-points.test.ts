// The page on security lists every entry point of the service with its bound. An undocumented entry point fails here.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { frameworkRoot } from "../../core/bootstrap/runtime.ts"
import { Jobs } from "../../core/contract/job.ts"
import { Routes } from "../../core/contract/route.ts"
import { Schedules } from "../../core/contract/schedule.ts"

const kinds = ["REST", "exports", "inbound", "MCP", "live", "mail", "jobs", "schedules", "commands"]
/** The largest body of any entry point. */
const maxBytes = 64 * 2 ** 20

describe("the entry points of docs/security.md", () => {
  let host: TestHost
  let rows: ReadonlyMap<string, string>
  before(async () => {
    host = await testHost()
    const page = readFileSync(join(frameworkRoot, "docs/security.md"), "utf8")
    const table = /\| entry point \|[\s\S]*?\n\n/.exec(page)?.[0] ?? ""
    rows = new Map([...table.matchAll(/^\| `?([^`|]+?)`? \| (.+) \|$/gm)].map(([, name = "", bound = ""]) => [name, bound]))
  })
  after(() => host.stop())

  it("include every kind of entry point with a bound", () => {
    for (const kind of kinds) expect(rows.get(kind) ?? "", kind).to.match(/\d|turn/)
  })

  it("include every public route, and no other", () => {
    const routes = host.runtime.registry.items(Routes)
    const names = [...rows.keys()].filter((name) => name.includes("."))
    expect(names.sort()).to.deep.equal(routes.map(({ name }) => name).sort())
    for (const { name, maxBodyBytes = 0 } of routes) expect(maxBodyBytes, name).to.be.at.most(maxBytes)
  })

  it("bound the jobs of each type, and every schedule runs a job", () => {
    const jobs = host.runtime.registry.items(Jobs)
    for (const { type, slots = 1 } of jobs) expect(slots, type).to.be.within(1, 256)
    const types = new Set(jobs.map(({ type }) => type))
    for (const { job } of host.runtime.registry.items(Schedules)) expect(types.has(job.type), job.type).to.equal(true)
  })
})
