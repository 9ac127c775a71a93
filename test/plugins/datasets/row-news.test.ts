// The live channel of a dataset: written and deleted rows, from every source.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { connectLive } from "../../../core/client/live.ts"
import type { Live, LiveMessage } from "../../../core/client/live-types.ts"
import { cuttingProxy } from "../../client/cutting-proxy.ts"
import { until } from "../../waiting.ts"

describe("the live channel of a dataset", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({})
    await host.invoke("datasets.create", { name: "Leads" })
    await host.invoke("datasets.create", { name: "Others" })
  })
  after(() => host.stop())

  const hearing = async (url: string, run: (messages: LiveMessage[], live: Live, gaps: () => number) => Promise<void>) => {
    const live = connectLive({ url, token: host.adminKey, reconnectMs: 20 })
    try {
      const messages: LiveMessage[] = []
      let gaps = 0
      await live.subscribe("datasets:leads", (message) => void messages.push(message), { onGap: () => void gaps++ }).ready
      await run(messages, live, () => gaps)
    } finally {
      live.close()
    }
  }

  it("tells of rows that callers and pipelines write, and that are deleted, of this dataset only", async () => {
    const { body: pipeline } = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Lead",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "dataset.write", dataset_slug: "leads" }],
    })
    await hearing(host.url, async (messages) => {
      await host.invoke("datasets.insert_rows", { slug: "others", rows: [{ n: 0 }] })
      const { row_ids } = await host.invoke<{ row_ids: string[] }>("datasets.insert_rows", { slug: "leads", rows: [{ n: 1 }, { n: 2 }] })
      await host.send(pipeline, { n: 3 })
      await host.api("DELETE", `/v1/datasets/leads/rows/${row_ids[0]}`)
      await until("four messages", () => messages.length >= 4)
      expect(messages.map(({ event, data }) => [event, (data as { values?: { n: number } }).values?.n])).to.deep.equal([
        ["row_written", 1],
        ["row_written", 2],
        ["row_written", 3],
        ["row_deleted", undefined],
      ])
      expect(messages.map(({ data }) => (data as { id: string }).id)).to.include.members(row_ids)
      expect(messages[3]?.data).to.deep.equal({ id: row_ids[0] })
    })
  })

  it("says that rows may have been missed when the connection was lost", async () => {
    const proxy = await cuttingProxy(host.url)
    try {
      await hearing(proxy.url, async (messages, _live, gaps) => {
        await host.invoke("datasets.insert_rows", { slug: "leads", rows: [{ n: 4 }] })
        await until("the message before the cut", () => messages.length === 1)
        proxy.cutNow()
        await until("word of the gap", () => gaps() === 1)
        await host.invoke("datasets.insert_rows", { slug: "leads", rows: [{ n: 5 }] })
        await until("the message after the cut", () => messages.length === 2)
      })
    } finally {
      await proxy.close()
    }
  })
})
