// The page on operations lists exactly the metrics of a service.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { testHost } from "#core/testing"
import { frameworkRoot } from "../../core/bootstrap/runtime.ts"

/** Metrics of a primary with several workers. */
const ofSeveral = ["millrace_workers", "millrace_worker_restarts_total"]

describe("docs/operations.md", () => {
  it("lists the metrics", async () => {
    const host = await testHost()
    const text = await (await fetch(`${host.url}/metrics`)).text()
    await host.stop()
    const served = [...text.matchAll(/^# TYPE (millrace_\w+)/gm)].map(([, name]) => String(name))
    const own = served.filter((name) => !/^millrace_(process|nodejs)_/.test(name))
    const page = readFileSync(join(frameworkRoot, "docs/operations.md"), "utf8")
    const rows = /\| metric \|[\s\S]*?\n\n/.exec(page)?.[0] ?? ""
    const names = [...rows.matchAll(/`(millrace_\w+)`/g)].map(([, name]) => String(name))
    expect(names.filter((name) => !ofSeveral.includes(name)).sort()).to.deep.equal(own.sort())
  })
})
