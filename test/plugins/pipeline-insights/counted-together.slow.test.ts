// Counters beside the event path (schema drift, use of secrets): written at a stop, and combined over several nodes.
import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { Bench, post } from "../../pipeline/bench.ts"
import { onBothStores } from "../../pipeline/stores.ts"

interface Report {
  readonly events: number
  readonly rejected: number
  readonly drift: { path: string; rejected: number }[]
}

const request_schema = { type: "object", additionalProperties: false, properties: { total: { type: "integer" } } }

onBothStores("what is counted beside events", ({ start, storage }) => {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-counted-"))
  after(() => rmSync(dataDir, { recursive: true, force: true }))

  it("is one after a restart, and of several nodes", async () => {
    const env = await storage()
    const several = env["MILLRACE_STORAGE_URL"] !== undefined
    const first = await start({ env, dataDir })
    const pipeline = await new Bench(first).make({ name: "Counted", auth_mode: "hmac_sha256", request_schema })
    const send = async (host: TestHost, event: object) => {
      const body = JSON.stringify(event)
      const signature = createHmac("sha256", pipeline.secret ?? "")
        .update(body)
        .digest("hex")
      return (await post(`${host.url}/v1/inbound/${pipeline.endpoint_id}`, body, { "x-signature-256": `sha256=${signature}` })).status
    }
    const early = several ? await start({ env, dataDir }) : undefined
    expect([await send(first, { total: 1 }), await send(first, { total: "1" })]).to.deep.equal([200, 400])
    if (early) expect([await send(early, { total: 2 }), await send(early, { coupon: "x" })]).to.deep.equal([200, 400])
    await first.stop()
    const firstHost = early ?? (await start({ env, dataDir }))
    if (!early) expect([await send(firstHost, { total: 2 }), await send(firstHost, { coupon: "x" })]).to.deep.equal([200, 400])
    const { body } = await firstHost.api<Report>("GET", "/v1/event-pipelines/counted/drift")
    expect(body).to.deep.include({ events: 4, rejected: 2 })
    expect(body.drift.map(({ path, rejected }) => [path, rejected])).to.have.deep.members([
      ["/total", 1],
      ["/coupon", 1],
    ])
    const { secrets } = (await firstHost.api<{ secrets: object[] }>("GET", "/v1/event-pipelines/counted/secrets")).body
    expect(secrets[0]).to.deep.include({ verified_events: 4, verified_last_hour: 4 })
  })

  it("stays readable on every node while one edits a pipeline that both take events of", async () => {
    const env = await storage()
    const several = env["MILLRACE_STORAGE_URL"] !== undefined
    const folder = mkdtempSync(join(tmpdir(), "millrace-edited-"))
    const hosts = [await start({ env, dataDir: folder })]
    if (several) hosts.push(await start({ env, dataDir: folder }))
    const [first = hosts[0] as TestHost, last = first] = hosts
    const bench = new Bench(first)
    const pipeline = await bench.make({ name: "Edited", request_schema })
    const beside = await bench.make({ name: "Beside" })
    let sentCount = 0
    const sendOn = async (host: TestHost) => {
      for (const { endpoint_id } of [pipeline, beside])
        expect((await post(`${host.url}/v1/inbound/${endpoint_id}`, { total: ++sentCount })).status).to.equal(200)
    }
    for (let edit = 1; edit <= 4; edit++) {
      for (const host of hosts) await sendOn(host)
      const schema = { ...request_schema, properties: { total: { type: "integer", maximum: 1_000 + edit } } }
      const document = { name: "Edited", state: "active", auth_mode: "none", pipeline: [], request_schema: schema }
      const { revision } = (await first.api<{ revision: number }>("GET", "/v1/event-pipelines/edited")).body
      const edited = await first.api("PUT", "/v1/event-pipelines/edited", { ...document, expected_revision: revision })
      expect(edited.status, JSON.stringify(edited.body)).to.equal(200)
      await sendOn(first)
      // The other node still has a sketch of the earlier document.
      for (const host of [first, last])
        for (const slug of ["edited", "beside"]) expect((await host.api("GET", `/v1/event-pipelines/${slug}/drift`)).status).to.equal(200)
    }
    for (const host of hosts) {
      const { body } = await host.api<Report>("GET", "/v1/event-pipelines/beside/drift")
      expect(body.events).to.equal(sentCount / 2)
      expect(host.logged.filter((line) => line.includes("could not be written"))).to.deep.equal([])
    }
  })
})
