// An archive on one of two nodes, and a kill during the creation of organizations.
import { expect } from "chai"
import { Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { apiOf, freshFolder, startService } from "../../../crash/service-process.ts"
import { lendDatabaseToFile } from "../../../mongodb-server.ts"
import { onMongo } from "../../../pipeline/stores.ts"
import { untilProcess as until } from "../../../waiting.ts"
import { collectionNamed } from "../../collection-named.ts"

onMongo("an archive on one of two nodes", () => {
  const nodes: TestHost[] = []
  before(async () => {
    const env = { MILLRACE_STORAGE_URL: await lendDatabaseToFile(), MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "100000" }
    const first = await testHost({ env, capture: false })
    nodes.push(first, await testHost({ env, capture: false, dataDir: first.dataDir }))
  })
  after(async () => {
    for (const node of nodes.reverse()) await node.stop()
  })

  it("refuses every later call and event, on both nodes", async () => {
    const [first, second] = nodes as [TestHost, TestHost]
    const response = await first.api<{ secret: string }>("POST", "/v1/organizations", { name: "Acme", first_key: true })
    const key = response.body.secret
    const document = { name: "Shop", state: "active", auth_mode: "none", pipeline: [{ type: "respond", status: 200, body: {} }] }
    const { body } = await first.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", document, { key })
    const path = new URL(body.inbound_url).pathname
    const call = async (node: TestHost) => (await node.api("POST", "/v1/datasets", { name: "Leads" }, { key })).status
    const send = async (node: TestHost) => (await fetch(node.url + path, { method: "POST", body: "{}", headers })).status
    const headers = { "content-type": "application/json" }
    for (const node of nodes) expect(await send(node)).to.equal(200)
    let isOver = false
    const late: number[] = []
    const work = async (ask: () => Promise<number>) => {
      for (;;) {
        const beganAfter = isOver
        const status = await ask()
        if (beganAfter) return void late.push(status)
      }
    }
    const workers = nodes.flatMap((node) => [() => call(node), () => send(node)]).map(work)
    expect((await second.api("POST", "/v1/organization/archive", {}, { key })).status).to.equal(200)
    isOver = true
    await Promise.all(workers)
    expect(late).to.deep.equal([403, 403, 403, 403])
  })
})

describe("a service killed during creations of organizations", () => {
  it("holds each organization whole or not at all", async () => {
    const folder = freshFolder()
    const limits = JSON.stringify({ organizations: { max_created_per_day: 1_000 } })
    const service = await startService({ dataDir: folder.path, env: { MILLRACE_PLUGINS_SETTINGS: limits } })
    let answered = 0
    try {
      const api = apiOf(service, folder.path)
      const created = Array.from({ length: 200 }, (_, n) =>
        api("POST", "/v1/organizations", { name: `Kill ${n}`, first_key: true }).then(
          () => answered++,
          () => undefined,
        ),
      )
      await until("the first answers", () => answered > 20)
      await service.kill()
      await Promise.all(created)
      const host = await testHost({ dataDir: folder.path })
      try {
        const store = host.get(Store)
        const matches = await store
          .open(collectionNamed<{ slug: string }>(host, "organizations"))
          .find({ slug: { $ne: host.organization.slug } })
        expect(matches.length).to.be.at.least(answered)
        const slugs = await store.open(collectionNamed(host, "organization_slugs")).find({})
        expect(slugs.map(({ id }) => id)).to.have.members([host.organization.slug, ...matches.map(({ slug }) => slug)])
        for (const { id, slug } of matches) {
          const owners = await store.open(collectionNamed(host, "memberships"), id).find({ role: "owner" })
          expect([owners.length, (await store.open(collectionNamed(host, "api_keys"), id).find({})).length], slug).to.deep.equal([1, 1])
        }
      } finally {
        await host.stop()
      }
    } finally {
      await service.kill()
      folder.remove()
    }
  })
})
