// Checks of a domain's records with a real DNS server: found records, their meaning, and ignored records.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { afterHourlyCheck, Customer, checked, type Domain, domainsEnv, path } from "./customer.ts"
import { type DnsServer, listenForDns } from "./dns-server.ts"

onBothStores("checks of sending domains", ({ start }) => {
  let host: TestHost
  let dns: DnsServer
  let customer: Customer
  before(async () => {
    dns = await listenForDns()
    dns.set("spf.sender.com", "TXT", "v=spf1 ip4:192.0.2.1 -all")
    host = await start({
      env: domainsEnv(dns, checked),
    })
    customer = new Customer(host, dns)
  })
  after(() => dns.close())

  const laterCheck = (domain: string) => afterHourlyCheck(host, () => customer.read(domain))

  it("make a domain active by what DNS shows, and say where it was found", async () => {
    await customer.create("good.com", { receiving: true })
    dns.cached = true
    const { sending_domain, records, of } = await customer.verify("good.com")
    dns.cached = false
    expect(records.map(({ record, state }) => `${record} ${state}`)).to.deep.equal([
      "dkim ok",
      "spf ok",
      "return_path ok",
      "dmarc ok",
      "mx ok",
    ])
    expect(of("dkim")).to.include({ where: "cache", ttl_s: 120, fix: "", problem: null })
    expect((await customer.verify("good.com")).of("dkim")).to.include({ where: "authoritative", ttl_s: 300 })
    expect(sending_domain).to.include({ status: "active", from_email: "hello@good.com", error_reason: "" })
    const broadcasts = (await host.broadcasts("sending_domains")).filter(({ data }) => (data as { domain: string }).domain === "good.com")
    expect(broadcasts).to.deep.equal([
      {
        channel: "sending_domains",
        event: "active",
        data: { domain: "good.com", status: "active", previous_status: "pending", error_reason: "" },
      },
    ])
  })

  it("leave things as they are while DNS does not tell", async () => {
    const { dkim } = await customer.create("silent.com")
    dns.fail(dkim.name, "servfail")
    const early = await customer.verify("silent.com")
    expect(early.sending_domain).to.include({ status: "pending", error_reason: "" })
    expect(early.of("dkim")).to.include({ state: "unknown", where: "nowhere", problem: null })
    dns.fail(dkim.name, undefined)
    expect((await customer.verify("silent.com")).sending_domain.status).to.equal("active")
    dns.fail(dkim.name, "servfail")
    for (let n = 0; n < 4; n++) expect((await laterCheck("silent.com")).status).to.equal("active")
  })

  it("name the look-up without an answer once the wrong record of a failed domain is right", async () => {
    const { dkim, spf, dmarc } = await customer.create("mended.com")
    dns.set("mended.com", "TXT", "v=spf1 -all")
    expect((await customer.verify("mended.com")).sending_domain.error_reason).to.contain("spf (TXT mended.com): different")
    dns.set("mended.com", "TXT", spf.value)
    for (const [name, record] of [
      [dkim.name, "dkim"],
      [dmarc.name, "dmarc"],
    ] as const) {
      dns.fail(name, "servfail")
      const { status, error_reason } = (await customer.verify("mended.com")).sending_domain
      expect([status, error_reason.includes(`${record} (TXT ${name}): `), /\bspf\b/.test(error_reason)]).to.deep.equal([
        "failed",
        true,
        false,
      ])
      expect(error_reason).to.contain("SERVFAIL")
      dns.fail(name, undefined)
    }
    expect((await customer.verify("mended.com")).sending_domain).to.include({ status: "active", error_reason: "" })
  })

  it("take an answer over TCP where it does not fit, and none that is cut, ends early or is another's", async () => {
    const { dkim } = await customer.create("long.com")
    dns.fail(dkim.name, "long")
    expect((await customer.verify("long.com")).sending_domain.status).to.equal("active")
    for (const [how, why] of [
      ["twice", /is cut over TCP too/],
      ["closes", /closed the connection before it answered/],
      ["other", /answer is that to another question/],
    ] as const) {
      dns.fail(dkim.name, how)
      const { sending_domain, of } = await customer.verify("long.com")
      expect(sending_domain.status, how).to.equal("active")
      expect(of("dkim"), how).to.include({ state: "unknown", problem: null })
      expect(of("dkim")?.fix, how).to.match(why)
      if (how === "closes") for (let n = 0; n < 3; n++) expect((await laterCheck("long.com")).status).to.equal("active")
    }
    dns.fail(dkim.name, undefined)
  })

  it("fail an active domain after the same contradiction three times, with what changed", async () => {
    const { dkim, dmarc } = await customer.create("fading.com")
    expect((await customer.verify("fading.com")).sending_domain.status).to.equal("active")
    dns.set(dkim.name, "TXT")
    for (let n = 0; n < 5; n++) expect((await customer.verify("fading.com")).sending_domain.status).to.equal("active")
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
    await customer.create("paused.com")
    await customer.verify("paused.com")
    const disabled = await customer.api<Domain>("POST", `${path}/paused.com/disable`)
    expect(disabled.body).to.include({ status: "disabled", from_email: "" })
    const refused = await customer.api<{ details: { reason: string } }>("POST", `${path}/paused.com/verify`)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "sending_domain_disabled"])
    expect((await customer.api<Domain>("POST", `${path}/paused.com/enable`)).body).to.include({ status: "pending", from_email: "" })
    expect((await laterCheck("paused.com")).status).to.equal("active")
  })
})

/** Only here timeouts are the subject; other tests repeat unanswered questions. */
describe("checks of sending domains that DNS does not answer in time", () => {
  let host: TestHost
  let dns: DnsServer
  let customer: Customer
  before(async () => {
    dns = await listenForDns()
    dns.set("spf.sender.com", "TXT", "v=spf1 ip4:192.0.2.1 -all")
    host = await testHost({ capture: false, env: domainsEnv(dns, { ...checked, dns_timeout_ms: 100 }) })
    customer = new Customer(host, dns)
  })
  after(async () => {
    await host.stop()
    await dns.close()
  })

  for (const [how, record, why] of [
    ["silence", "spf", /timed out/],
    ["hangs", "dkim", /over TCP timed out/],
  ] as const) {
    it(`leave things as they are: ${how}`, async () => {
      const domain = `${how}.com`
      const created = await customer.create(domain)
      await until("the domain being active", async () => (await customer.verify(domain)).sending_domain.status === "active")
      dns.fail(created[record].name, how)
      // No TCP question follows a UDP timeout.
      const { sending_domain, of } = await until("the time-out", async () => {
        const verified = await customer.verify(domain)
        return why.test(verified.of(record)?.fix ?? "") && verified
      })
      expect(sending_domain.status).to.equal("active")
      expect(of(record)).to.include({ state: "unknown", problem: null })
    })
  }
})
