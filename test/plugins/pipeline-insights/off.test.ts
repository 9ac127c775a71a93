// The service without statistics of events: `plugins.settings.pipeline-insights.enabled: false`.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import { Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { Bench, post } from "../../pipeline/bench.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { collectionNamed } from "../collection-named.ts"

interface Secrets {
  readonly secrets: { readonly id: string; readonly state: string; readonly verified_events: number; readonly may_end: boolean }[]
}

describe("pipeline-insights, if it is off", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ env: pluginSettings({ "pipeline-insights": { enabled: false } }) })
  })
  after(() => host.stop())

  it("leaves events and plans as they are, and counts nothing", async () => {
    const { inbound_url, slug } = await new Bench(host).make({ name: "Uncounted" })
    expect((await post(inbound_url, { total: 1 })).status).to.equal(200)
    const planned = await host.api("POST", "/v1/event-pipelines/plan", {
      documents: [{ path: "a.yaml", document: { name: "Uncounted", slug } }],
    })
    expect(planned.status).to.equal(200)
    expect((await host.api("GET", "/v1/event-activity")).status).to.equal(404)
    expect((await host.api("GET", `/v1/event-pipelines/${slug}/drift`)).status).to.equal(404)
    const store = host.get(Store)
    const { id } = host.organization
    expect(await store.open(collectionNamed(host, "event_minutes"), id).find({}, { limit: 10 })).to.deep.equal([])
    expect(await store.open(collectionNamed(host, "event_schema_sketches"), id).find({}, { limit: 10 })).to.deep.equal([])
    expect(await store.open(collectionNamed(host, "event_pipeline_secret_uses"), id).find({}, { limit: 10 })).to.deep.equal([])
  })

  it("lists secrets without counts, and ends one with force only", async () => {
    const { inbound_url, slug, secret } = await new Bench(host).make({ name: "Secrets", auth_mode: "hmac_sha256" })
    await host.api("POST", `/v1/event-pipelines/${slug}/rotate-secret`, { overlap: "24h" })
    const send = async () => {
      const signature = createHmac("sha256", secret ?? "")
        .update('{"n":1}')
        .digest("hex")
      return (await post(inbound_url, '{"n":1}', { "x-signature-256": `sha256=${signature}` })).status
    }
    expect(await send()).to.equal(200)
    const { secrets } = (await host.api<Secrets>("GET", `/v1/event-pipelines/${slug}/secrets`)).body
    expect(secrets.map(({ state, verified_events, may_end }) => ({ state, verified_events, may_end }))).to.deep.equal([
      { state: "current", verified_events: 0, may_end: false },
      { state: "overlapping", verified_events: 0, may_end: false },
    ])
    const path = `/v1/event-pipelines/${slug}/secrets/${secrets[1]?.id}/end`
    const refused = await host.api<{ details: { reason: string } }>("POST", path, {})
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "secret_use_unknown"])
    expect(await send()).to.equal(200)
    expect((await host.api("POST", path, { force: true })).status).to.equal(200)
    expect(await send()).to.equal(401)
  })
})
