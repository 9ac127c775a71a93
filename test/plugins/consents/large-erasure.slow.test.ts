// The erasure of a person with many rows while the service serves others.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { expectShortTurn, leastTurn, longestTurn, printLongestTurns } from "../../longest-turn.ts"
import { untilProcess as until } from "../../waiting.ts"

const rowCount = 3_000

describe(`an erasure of ${rowCount} rows`, () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ env: { MILLRACE_JOBS_POLL_MS: "20" } })
    const save = { id: "save", type: "dataset.write", dataset_slug: "contacts" }
    await host.invoke("event_pipelines.create", { name: "Contacts", state: "active", source_kind: "internal", pipeline: [save] })
  })
  after(() => host.stop())

  const rows = async (limit: number) =>
    (await host.invoke<{ rows: unknown[] }>("datasets.list_rows", { slug: "contacts", limit })).rows.length

  it("takes short turns", async () => {
    let people = 0
    const { milliseconds } = await leastTurn(async () => {
      const payload = { email: `ada${++people}@example.com`, note: "said ".repeat(200) }
      for (let sentCount = 0; sentCount < rowCount; sentCount += 100)
        await Promise.all(Array.from({ length: 100 }, () => host.invoke("event_pipelines.send_event", { slug: "contacts", payload })))
      return await longestTurn(async () => {
        const erased = await host.invoke<{ rows: unknown[] }>("consents.erase", { email: payload.email, reason: "test", rows: "delete" })
        expect(erased.rows).to.have.length(1_000)
        await until("no row", async () => (await rows(1)) === 0)
      })
    })
    printLongestTurns([{ what: "erasure", milliseconds }])
    expectShortTurn(milliseconds, `an erasure of ${rowCount} rows`)
  })
})
