// Rows written just before the service is killed become leads: new rows, and keyed rows with a new or changed address.
import { expect } from "chai"
import { type Api, apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { isSoak } from "../../tier.ts"
import { untilProcess as until } from "../../waiting.ts"

const kills = isSoak ? 20 : 3

describe("rows of the moment in which the service is killed", () => {
  const folder = freshFolder()
  let service: ServiceProcess
  let api: Api
  const start = async () => {
    service = await startService({ dataDir: folder.path, env: {} })
    api = apiOf(service, folder.path)
  }
  before(start)
  after(async () => {
    await service.kill()
    folder.remove()
  })

  it("become leads after the next start, each once", async () => {
    const pipeline = await api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Cart",
      state: "active",
      auth_mode: "none",
      pipeline: [{ type: "dataset.write", dataset_slug: "carts", key: "cart" }],
    })
    const path = new URL(pipeline.inbound_url).pathname
    const send = async (event: object) => {
      const body = JSON.stringify(event)
      const answer = await fetch(service.url + path, { method: "POST", headers: { "content-type": "application/json" }, body })
      expect(answer.status).to.equal(200)
    }
    const hasLead = async (email: string) =>
      (await api<{ leads: object[] }>("GET", `/v1/leads?email=${encodeURIComponent(email)}`)).leads.length === 1
    for (let kill = 1; kill <= kills; kill++) {
      await send({ cart: `without-${kill}`, items: 1 })
      await send({ cart: `other-${kill}`, email: `before${kill}@example.com` })
      await until("the lead of before", () => hasLead(`before${kill}@example.com`))
      await Promise.all([
        send({ cart: `new-${kill}`, email: `new${kill}@example.com` }),
        send({ cart: `without-${kill}`, email: `added${kill}@example.com` }),
        send({ cart: `other-${kill}`, email: `changed${kill}@example.com` }),
      ])
      const write = api("POST", "/v1/datasets/carts/rows", {
        key: "cart",
        rows: [{ cart: `other-${kill}`, email: `caller${kill}@example.com` }],
      })
      await write
      await service.kill()
      await start()
      for (const who of ["new", "added", "caller"]) await until(`the lead of ${who}`, () => hasLead(`${who}${kill}@example.com`))
    }
    const { leads } = await api<{ leads: { emails: string[] }[] }>("GET", "/v1/leads?limit=200")
    const emails = leads.flatMap((lead) => lead.emails)
    expect(new Set(emails).size).to.equal(emails.length)
  })
})
