// A domain's records held against a real DNS server: what is found, what it means, and what does not count.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipelines/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { type DnsServer, listenForDns } from "./dns-server.ts"

interface Domain {
  readonly domain: string
  readonly status: string
  readonly error_reason: string
  readonly from_email: string
  readonly last_checked_at: string
  readonly dns_records: { name: string; type: "CNAME" | "MX" | "TXT"; value: string }[]
}
interface RecordCheck {
  readonly record: string
  readonly state: string
  readonly problem: string | null
  readonly found: string[]
  readonly where: string
  readonly ttl_s: number | null
  readonly fix: string
}
interface Verified {
  readonly sending_domain: Domain
  readonly records: RecordCheck[]
}

const hourMs = 3_600_000

onBothStores("checks of sending domains", ({ start }) => {
  let host: TestHost
  let dns: DnsServer
  before(async () => {
    dns = await listenForDns()
    dns.set("spf.sender.com", "TXT", "v=spf1 ip4:192.0.2.1 -all")
    host = await start({
      env: pluginSettings({
        "sending-domains": {
          dns_servers: [dns.address],
          dns_timeout_ms: 2_000,
          spf_host: "spf.sender.com",
          return_path_host: "bounce.sender.com",
        },
      }),
    })
  })
  after(() => dns.close())

  const path = "/v1/sending-domains"
  const api = <T>(method: string, at: string, body?: object) => patiently(() => host.api<T>(method, at, body))
  const read = async (domain: string) => (await api<Domain>("GET", `${path}/${domain}`)).body
  const verify = async (domain: string) => {
    const { status, body } = await api<Verified>("POST", `${path}/${domain}/verify`)
    expect(status, JSON.stringify(body)).to.equal(200)
    return { ...body, of: (record: string) => body.records.find((one) => one.record === record) }
  }
  /** Registers a domain, and creates its records as its customer would. */
  const made = async (domain: string, more: object = {}) => {
    const { body } = await api<Domain>("POST", path, { domain, ...more })
    for (const { name, type, value } of body.dns_records) dns.set(name, type, value)
    const [dkim, spf, returnPath, dmarc] = body.dns_records
    if (!dkim || !spf || !returnPath || !dmarc) throw new Error(`records are missing: ${JSON.stringify(body)}`)
    return { dkim, spf, returnPath, dmarc }
  }
  const laterCheck = async (domain: string) => {
    const before = (await read(domain)).last_checked_at
    host.clock.move(hourMs)
    const looked = async () => {
      const now = await read(domain)
      return now.last_checked_at === before ? undefined : now
    }
    return until(`the check of ${domain}`, looked, { everyMs: 100 })
  }

  it("make a domain active by what DNS shows, and say where it was found", async () => {
    await made("good.com", { receiving: true })
    dns.cached = true
    const { sending_domain, records, of } = await verify("good.com")
    dns.cached = false
    expect(records.map(({ record, state }) => `${record} ${state}`)).to.deep.equal([
      "dkim ok",
      "spf ok",
      "return_path ok",
      "dmarc ok",
      "mx ok",
    ])
    expect(of("dkim")).to.include({ where: "cache", ttl_s: 120, fix: "", problem: null })
    expect((await verify("good.com")).of("dkim")).to.include({ where: "authoritative", ttl_s: 300 })
    expect(sending_domain).to.include({ status: "active", from_email: "hello@good.com", error_reason: "" })
    const told = (await host.broadcasts("sending_domains")).filter(({ data }) => (data as { domain: string }).domain === "good.com")
    expect(told).to.deep.equal([
      {
        channel: "sending_domains",
        event: "active",
        data: { domain: "good.com", status: "active", previous_status: "pending", error_reason: "" },
      },
    ])
  })

  it("leave things as they are while DNS does not tell", async () => {
    const { dkim, spf } = await made("silent.com")
    dns.fail(dkim.name, "servfail")
    const early = await verify("silent.com")
    expect(early.sending_domain).to.include({ status: "pending", error_reason: "" })
    expect(early.of("dkim")).to.include({ state: "unknown", where: "nowhere", problem: null })
    dns.fail(dkim.name, undefined)
    expect((await verify("silent.com")).sending_domain.status).to.equal("active")
    dns.fail(dkim.name, "servfail")
    for (let n = 0; n < 4; n++) expect((await laterCheck("silent.com")).status).to.equal("active")
    dns.fail(spf.name, "silence")
    expect((await verify("silent.com")).of("spf")?.fix).to.contain("timed out")
  })

  it("fail an active domain after the same contradiction three times, with what changed", async () => {
    const { dkim, dmarc } = await made("fading.com")
    expect((await verify("fading.com")).sending_domain.status).to.equal("active")
    dns.set(dkim.name, "TXT")
    for (let n = 0; n < 5; n++) expect((await verify("fading.com")).sending_domain.status).to.equal("active")
    expect((await laterCheck("fading.com")).status).to.equal("active")
    dns.set(dkim.name, "TXT", dkim.value)
    dns.set(dmarc.name, "TXT")
    expect((await laterCheck("fading.com")).status, "another contradiction").to.equal("active")
    dns.set(dmarc.name, "TXT", dmarc.value)
    dns.set(dkim.name, "TXT")
    for (let n = 0; n < 2; n++) expect((await laterCheck("fading.com")).status).to.equal("active")
    const failed = await laterCheck("fading.com")
    expect(failed).to.include({ status: "failed", from_email: "" })
    expect(failed.error_reason).to.contain(dkim.value).and.contain("is nothing")
    expect(failed.dns_records[0]).to.deep.equal(dkim)
    dns.set(dkim.name, "TXT", dkim.value)
    expect(await laterCheck("fading.com")).to.include({ status: "active", error_reason: "" })
  })

  it("end with a disabled domain, and begin again with an enabled one", async () => {
    await made("paused.com")
    await verify("paused.com")
    const disabled = await api<Domain>("POST", `${path}/paused.com/disable`)
    expect(disabled.body).to.include({ status: "disabled", from_email: "" })
    const refused = await api<{ details: { reason: string } }>("POST", `${path}/paused.com/verify`)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "sending_domain_disabled"])
    expect((await api<Domain>("POST", `${path}/paused.com/enable`)).body).to.include({ status: "pending", from_email: "" })
    expect((await laterCheck("paused.com")).status).to.equal("active")
  })
})
