// Rotation with evidence: the secret that verified each event, with time and source, the end of the old one's use, and the
// effects of an early end.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { shownAddress } from "../../../plugins/capture/pipeline-insights/secret-use/counter.ts"
import { mergeUses } from "../../../plugins/capture/pipeline-insights/secret-use/merge.ts"
import { Bench, post } from "../../pipeline/bench.ts"
import { onStoresInTurn } from "../../pipeline/stores.ts"
import { ShiftedClock } from "../../shifted-clock.ts"

interface Evidence {
  readonly id: string
  readonly state: string
  readonly last_verified_at: string | null
  readonly verified_events: number
  readonly verified_last_hour: number
  readonly addresses: { address: string; events: number }[]
  readonly more_addresses: boolean
  readonly quiet_since: string | null
  readonly may_end: boolean
}
interface Refused {
  readonly details: { readonly reason: string; readonly verified_last_hour?: number; readonly addresses?: string[] }
}

const minuteMs = 60_000
const sign = (secret: string, body = '{"n":1}') => ({
  "x-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
})
const send = async (url: string, secret: string, from?: string) =>
  (await post(url, '{"n":1}', { ...sign(secret), ...(from === undefined ? {} : { "x-forwarded-for": from }) })).status

onStoresInTurn("the use of secrets", ({ start }) => {
  const clock = new ShiftedClock()
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await start({ clock, env: { MILLRACE_TRUST_PROXY: "127.0.0.0/8" } })
    bench = new Bench(host)
  })
  const secretsOf = async (slug: string) =>
    (await host.api<{ secrets: Evidence[] }>("GET", `/v1/event-pipelines/${slug}/secrets`)).body.secrets
  const rotated = async (name: string) => {
    const pipeline = await bench.make({ name, auth_mode: "hmac_sha256" })
    expect(await send(pipeline.inbound_url, pipeline.secret ?? "", "198.51.100.7")).to.equal(200)
    const { body } = await host.api<{ secret: string }>("POST", `/v1/event-pipelines/${pipeline.slug}/rotate-secret`, { overlap: "24h" })
    return { ...pipeline, old: pipeline.secret ?? "", fresh: body.secret }
  }
  const end = <T>(slug: string, id: string, body: object = {}) => host.api<T>("POST", `/v1/event-pipelines/${slug}/secrets/${id}/end`, body)

  it("is shown by secret, with the networks that its events came from, and nothing of an event that did not verify", async () => {
    const { slug, inbound_url, old, fresh } = await rotated("Shown")
    expect(await send(inbound_url, old, "198.51.100.8")).to.equal(200)
    expect(await send(inbound_url, fresh, "2001:db8:1:2:3::4")).to.equal(200)
    expect(await send(inbound_url, "wrong", "203.0.113.1")).to.equal(401)
    const [current, overlapping, ...more] = await secretsOf(slug)
    expect(more).to.deep.equal([])
    expect(current).to.deep.include({ state: "current", verified_events: 1, verified_last_hour: 1, quiet_since: null, may_end: false })
    expect(current?.addresses.map(({ address }) => address)).to.deep.equal(["2001:db8:1:2::/64"])
    expect(overlapping).to.deep.include({
      state: "overlapping",
      verified_events: 2,
      verified_last_hour: 2,
      more_addresses: false,
      may_end: false,
    })
    expect(overlapping?.addresses.map(({ address, events }) => [address, events])).to.deep.equal([["198.51.100.0/24", 2]])
    expect(JSON.stringify(await secretsOf(slug)))
      .not.to.include(old)
      .and.not.to.include(fresh)
  })

  it("says how many events the early end would have failed, and ends the secret at once where that is forced", async () => {
    const { slug, inbound_url, old, fresh } = await rotated("In use")
    const [current, overlapping] = await secretsOf(slug)
    const refused = await end<Refused>(slug, overlapping?.id ?? "")
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "secret_in_use"])
    expect(refused.body.details).to.deep.include({ verified_last_hour: 1, addresses: ["198.51.100.0/24"] })
    expect(await send(inbound_url, old)).to.equal(200)
    expect((await end<Refused>(slug, current?.id ?? "", { force: true })).body.details.reason).to.equal("secret_current")
    const ended = await end<{ verified_last_hour: number }>(slug, overlapping?.id ?? "", { force: true })
    expect([ended.status, ended.body.verified_last_hour]).to.deep.equal([200, 2])
    expect(await send(inbound_url, old)).to.equal(401)
    expect(await send(inbound_url, fresh)).to.equal(200)
    expect((await end<Refused>(slug, overlapping?.id ?? "")).body.details.reason).to.equal("secret_not_found")
    expect((await secretsOf(slug)).map(({ state }) => state)).to.deep.equal(["current"])
  })

  it("has gone quiet once the newer secret alone was used for longer than the old one's pauses were", async () => {
    const { slug, inbound_url, old, fresh } = await rotated("Quiet")
    for (let value = 0; value < 3; value++) {
      clock.step(4 * minuteMs)
      expect(await send(inbound_url, old)).to.equal(200)
    }
    clock.step(11 * minuteMs)
    expect((await secretsOf(slug))[1]).to.deep.include({ quiet_since: null })
    expect(await send(inbound_url, fresh)).to.equal(200)
    expect((await secretsOf(slug))[1], "five pauses of four minutes are not over").to.deep.include({ quiet_since: null })
    clock.step(12 * minuteMs)
    const quiet = (await secretsOf(slug))[1]
    expect(quiet?.quiet_since).to.equal(quiet?.last_verified_at)
    expect(quiet).to.deep.include({ may_end: false, verified_last_hour: 4 })
    clock.step(50 * minuteMs)
    const later = (await secretsOf(slug))[1]
    expect(later).to.deep.include({ may_end: true, verified_last_hour: 0, verified_events: 4 })
    expect((await end(slug, later?.id ?? "")).status).to.equal(200)
  })

  it("keeps a bounded set of addresses, and says that there were more", async () => {
    const pipeline = await bench.make({ name: "Many", auth_mode: "hmac_sha256" })
    for (let value = 0; value < 30; value++) await send(pipeline.inbound_url, pipeline.secret ?? "", `198.18.${value}.1`)
    const [current] = await secretsOf(pipeline.slug)
    expect(current?.addresses).to.have.length(20)
    expect(current).to.deep.include({ verified_events: 30, more_addresses: true })
  })

  it("is not another organization's, nor a member's, to see", async () => {
    const { body } = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "member", role: "member" })
    const asMember = { headers: { authorization: `Bearer ${body.secret}` } }
    expect((await host.api("GET", "/v1/event-pipelines/many/secrets", undefined, asMember)).status).to.equal(403)
    expect((await host.api("GET", "/v1/event-pipelines/nobodys/secrets")).status).to.equal(404)
  })
})

describe("counts of the use of a secret", () => {
  const use = (at: string, minute: number) => ({
    pipeline_id: "p",
    first_at: at,
    last_at: at,
    events: 1,
    minutes: [{ minute, events: 1 }],
    addresses: [{ address: "192.0.2.1", last_at: at, events: 1 }],
    more_addresses: false,
    expires_at: "",
  })

  it("are the same in any order of merging", () => {
    const early = use("2026-01-01T00:00:00.000Z", 1)
    const late = use("2026-01-01T00:05:00.000Z", 6)
    expect(mergeUses(early, late)).to.deep.equal(mergeUses(late, early))
    expect(mergeUses(early, late)).to.deep.include({ events: 2, addresses: [{ address: "192.0.2.1", last_at: late.last_at, events: 2 }] })
  })

  it("show addresses as the settings say", () => {
    expect(["full", "network", "none"].map((privacy) => shownAddress("192.0.2.77", privacy as "full"))).to.deep.equal([
      "192.0.2.77",
      "192.0.2.0/24",
      "",
    ])
    expect(shownAddress("not an address", "full")).to.equal("")
  })
})
