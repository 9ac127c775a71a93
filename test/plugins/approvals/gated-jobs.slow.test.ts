// Jobs behind a gate on two nodes of one store.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onMongo } from "../../pipeline/stores.ts"
import { untilProcess as until } from "../../waiting.ts"
import { approval, enqueue, gatedReports, reportCount, reports, secondAdmin, waitsFor } from "./gated-reports.ts"

onMongo("jobs behind a gate, on two nodes", ({ start, storage }) => {
  it("run once where two decide at once", async () => {
    const env = { ...(await storage()), MILLRACE_JOBS_POLL_MS: "20" }
    const firstHost = await start({ env, plugins: [gatedReports] })
    const two = await start({ env, plugins: [gatedReports], dataDir: firstHost.dataDir })
    let runs = 0
    reports.before = () => void runs++
    const key = await secondAdmin(firstHost)
    await enqueue(firstHost, { to: "ada@example.com" })
    const { id } = await waitsFor(two, "ada@example.com")
    const decide = (host: TestHost) => host.api(`POST`, `/v1/approvals/${id}/decide`, { decision: "approve" }, { key })
    const both = await Promise.all([decide(firstHost), decide(two)])
    expect(both.map(({ status }) => status)).to.have.members([200, 400])
    await until("the receipt", async () => (await approval(two, id)).state === "done")
    reports.before = () => {}
    expect([runs, (await reportCount(firstHost)).length]).to.deep.equal([1, 1])
  })
})
