// Work of several areas whose commit comes second: it is repeated, and nothing of it is lost.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { rivalOf } from "../rival-commits.ts"
import { until } from "../waiting.ts"

describe("work that meets a faster commit", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const retried = () => host.logged.filter((line) => line.includes("will be retried"))

  it("sees a lead again that another node changes at the same time", async () => {
    const add = (phone: string) =>
      host.api("POST", "/v1/datasets/people/rows", { rows: [{ email: "ada@example.com", phone, name: "Ada" }] })
    await host.api("POST", "/v1/datasets", { name: "People", slug: "people" })
    const leads = async () => (await host.api<{ leads: { phones: string[] }[] }>("GET", "/v1/leads?email=ada%40example.com")).body.leads
    await add("+4930901820")
    await until("the lead", async () => (await leads())[0])
    const rival = rivalOf(host, "leads", 3)
    await add("+4930901821")
    await until("both numbers", async () => (await leads())[0]?.phones.length === 2)
    rival.stop()
    expect([rival.met, retried()]).to.deep.equal([3, []])
  })
})
