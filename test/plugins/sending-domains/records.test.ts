// Findings of a check of a domain's records, and the servers asked. Independent of the store, so one store suffices.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Customer, checked, domainsEnv } from "./customer.ts"
import { type DnsServer, listenForDns } from "./dns-server.ts"

describe("records of sending domains", () => {
  let host: TestHost
  let dns: DnsServer
  let customer: Customer
  before(async () => {
    dns = await listenForDns()
    dns.set("spf.sender.com", "TXT", "v=spf1 ip4:192.0.2.1 -all")
    host = await testHost({
      capture: false,
      env: domainsEnv(dns, checked),
    })
    customer = new Customer(host, dns)
  })
  after(async () => {
    await host.stop()
    await dns.close()
  })

  it("name the mistakes that are made often, with what mends them", async () => {
    const domain = await customer.create("bad.com")
    const { dkim, spf, returnPath, dmarc } = domain
    const restore = () => {
      for (const { name, type, value } of Object.values(domain)) dns.set(name, type, value)
    }
    const expectFault = async (record: string, problem: string, ...fix: string[]) => {
      const { sending_domain, of } = await customer.verify("bad.com")
      expect(of(record), `${record} ${problem}`).to.include({ state: "wrong", problem })
      for (const part of fix) expect(of(record)?.fix).to.contain(part)
      expect(sending_domain).to.include({ status: "failed", from_email: "" })
      expect(sending_domain.error_reason).to.contain(`${record} (`).and.contain(problem)
      restore()
    }
    dns.set(dkim.name, "TXT")
    await expectFault("dkim", "missing", dkim.name, dkim.value)
    dns.set(dkim.name, "TXT")
    dns.set(`${dkim.name}.bad.com`, "TXT", dkim.value)
    await expectFault("dkim", "name_doubled", `${dkim.name}.bad.com`, `Enter the name as ${dkim.name.replace(".bad.com", "")}`)
    dns.set(dkim.name, "TXT", `"${dkim.value}"`)
    await expectFault("dkim", "quoted", dkim.value)
    dns.set(dkim.name, "TXT", dkim.value.slice(0, 255))
    await expectFault("dkim", "truncated", dkim.value)
    dns.set(dkim.name, "TXT", dkim.value.slice(0, 200), dkim.value.slice(200))
    await expectFault("dkim", "split", dkim.value)
    dns.set(dkim.name, "TXT", "v=DKIM1; k=rsa; p=AAAA")
    await expectFault("dkim", "different", dkim.value)
    dns.set("bad.com", "TXT", "v=spf1 mx -all", spf.value, "other=1")
    await expectFault("spf", "several", "v=spf1 mx include:spf.sender.com ~all")
    dns.set("bad.com", "TXT", "v=spf1 mx -all")
    await expectFault("spf", "different", "v=spf1 mx include:spf.sender.com -all")
    dns.set("many.net", "TXT", `v=spf1 ${[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `exists:e${n}.many.net`).join(" ")} -all`)
    dns.set("bad.com", "TXT", "v=spf1 include:spf.sender.com include:many.net -all")
    await expectFault("spf", "too_many_lookups", "10")
    dns.set("bad.com", "TXT", "v=spf1 include:spf.sender.com include:nothing.net -all")
    await expectFault("spf", "broken_include", "nothing.net has no SPF record")
    dns.set("twice.net", "TXT", "v=spf1 -all", "v=spf1 +all")
    dns.set("bad.com", "TXT", "v=spf1 include:spf.sender.com redirect=twice.net")
    await expectFault("spf", "broken_include", "twice.net has 2 SPF records")
    dns.set("bad.com", "TXT", "v=spf1 a mx:none.net include:spf.sender.com a:other.net/24 -all")
    await expectFault("spf", "too_many_void_lookups", "2")
    dns.set(returnPath.name, "CNAME")
    dns.set(returnPath.name, "A", "198.51.100.7")
    await expectFault("return_path", "proxied", "198.51.100.7", "bounce.sender.com")
    dns.set(dmarc.name, "TXT", dmarc.value, "v=DMARC1; p=reject")
    await expectFault("dmarc", "several", dmarc.name)
    dns.set(returnPath.name, "A")
    dns.set("bad.com", "TXT", "v=spf1 include:spf.sender.com a mx ptr exists:%{i}.x.com -all", "other=1")
    const last = await customer.verify("bad.com")
    expect(last.sending_domain.status, JSON.stringify(last.records)).to.equal("active")
  })

  it("are wrong exactly if a receiver refuses them", async () => {
    const domain = await customer.create("exact.com", { receiving: true })
    const { dkim, spf, returnPath, dmarc } = domain
    dns.set("through.com", "TXT", "v=spf1 include:spf.sender.com -all")
    dns.set("alias.com", "CNAME", "bounce.sender.com")
    dns.set("elsewhere.com", "CNAME", "other.com")
    for (const n of [...Array(11).keys()]) dns.set(`i${n}.many.com`, "TXT", "v=spf1 ip4:192.0.2.99 -all")
    const includes = [...Array(11).keys()].map((n) => `include:i${n}.many.com`).join(" ")
    const txt =
      (name: string) =>
      (...values: string[]) =>
        dns.set(name, "TXT", ...values)
    const [setSpf, setDkim, setDmarc] = [txt("exact.com"), txt(dkim.name), txt(dmarc.name)]
    const cases: [record: string, problem: string | null, change: () => void][] = [
      ["spf", "refused", () => setSpf("v=spf1 includ:foo include:spf.sender.com ~all")],
      ["spf", "refused", () => setSpf("v=spf1 include:spf.sender.com ip4:1.2.3 ~all")],
      ["spf", "refused", () => setSpf("v=spf1 include:spf.sender.com redirect=through.com redirect=spf.sender.com")],
      ["spf", "refused", () => setSpf("v=spf1 include:%{z}.com include:spf.sender.com ~all")],
      ["spf", "different", () => setSpf("v=spf1 -include:spf.sender.com include:spf.sender.com ~all")],
      ["spf", "different", () => setSpf("v=spf1 ?include:spf.sender.com ~all")],
      ["spf", "different", () => setSpf("v=spf1 -ip4:192.0.2.0/24 include:spf.sender.com ~all")],
      ["spf", "different", () => setSpf("v=spf1 ~all include:spf.sender.com")],
      ["spf", "too_many_lookups", () => setSpf(`v=spf1 ${includes} include:spf.sender.com ~all`)],
      ["spf", "several", () => setSpf("v=spf1 -ip4:192.0.2.1 -all", spf.value)],
      ["spf", null, () => setSpf("v=spf1 include:through.com -all")],
      ["spf", null, () => setSpf("v=spf1 redirect=through.com")],
      ["spf", null, () => setSpf("v=spf1 ip4:192.0.2.0/28 -all")],
      ["spf", null, () => setSpf("v=spf1 include:spf.sender.com -all include:nothing.com redirect=nothing.com")],
      ["spf", null, () => setSpf("V=SPF1 +INCLUDE:spf.sender.com -all")],
      ["dkim", "refused", () => setDkim(dkim.value.replace("k=rsa", "k=rsa; h=sha1"))],
      ["dkim", "refused", () => setDkim(dkim.value.replace("k=rsa", "k=rsa; s=tlsrpt"))],
      ["dkim", "refused", () => setDkim(dkim.value.replace("k=rsa", "k=ed25519"))],
      ["dkim", "refused", () => setDkim(dkim.value.replace("DKIM1", "DKIM2"))],
      ["dkim", "escaped", () => setDkim(dkim.value.replaceAll(";", "\\;"))],
      ["dkim", "different", () => setDkim("v=DKIM1; k=rsa; p=")],
      ["dkim", null, () => setDkim(dkim.value.replace("k=rsa", "k=rsa; h=sha1:sha256; s=email; t=y:s; n=ours"))],
      ["dkim", null, () => setDkim(dkim.value.replace("v=DKIM1; k=rsa; ", ""))],
      ["dkim", null, () => setDkim(dkim.value.replace(/(.{300})/, "$1 "))],
      ["return_path", null, () => dns.set(returnPath.name, "CNAME", "alias.com")],
      ["return_path", "different", () => dns.set(returnPath.name, "CNAME", "elsewhere.com")],
      ["return_path", "different", () => dns.set(returnPath.name, "CNAME", returnPath.name)],
      ["dmarc", null, () => setDmarc("v=DMARC1; p=reject; adkim=s; aspf=s")],
      ["dmarc", "different", () => setDmarc("v=DMARC1; p=nothing")],
      ["dmarc", "escaped", () => setDmarc("v=DMARC1\\; p=none")],
      ["mx", null, () => dns.set("exact.com", "MX", "10 inbound.millrace.localhost", "20 backup.com")],
      ["mx", "different", () => dns.set("exact.com", "MX", "10 inbound.millrace.localhost", "10 other.com")],
      ["mx", "different", () => dns.set("exact.com", "MX", "20 inbound.millrace.localhost", "10 first.com")],
    ]
    const records = (await customer.read("exact.com")).dns_records
    const restore = () => {
      for (const { name, type, value } of records) dns.set(name, type, value)
    }
    /** The value named in a fix passes the check. */
    const follows = async (record: string, fix: string) => {
      const advised = /(v=(?:spf1|DMARC1).*)$/.exec(fix)?.[1]
      if (advised === undefined) return
      dns.set(record === "spf" ? "exact.com" : dmarc.name, "TXT", advised)
      expect((await customer.verify("exact.com")).of(record)?.state, `the advice ${advised}`).to.equal("ok")
    }
    for (const [record, problem, change] of cases) {
      change()
      const { sending_domain, of } = await customer.verify("exact.com")
      const check = of(record)
      const title = `${record}: ${check?.found.join(" and ")}`
      expect([check?.problem, check?.fix === ""], title).to.deep.equal([problem, problem === null])
      if (problem === null) expect(sending_domain.status, title).to.equal("active")
      await follows(record, check?.fix ?? "")
      restore()
    }
  })

  it("take a subdomain's DMARC from the domain that it is under", async () => {
    const { dmarc } = await customer.create("mail.under.com")
    dns.set(dmarc.name, "TXT")
    expect((await customer.verify("mail.under.com")).of("dmarc")).to.include({ problem: "missing" })
    dns.set("_dmarc.under.com", "TXT", "v=DMARC1; p=reject")
    expect((await customer.verify("mail.under.com")).sending_domain.status).to.equal("active")
  })

  it("are read at the name servers of their zone, as soon as they are there", async () => {
    dns.set("zoned.com", "NS", "ns1.hoster.com", "ns2.hoster.com")
    dns.set("ns1.hoster.com", "A", "10.0.0.1")
    dns.set("ns2.hoster.com", "A", "127.0.0.1")
    dns.cached = true
    try {
      const { dkim, spf } = await customer.create("zoned.com")
      dns.remember(dkim.name, "TXT", [])
      dns.remember("zoned.com", "TXT", ["v=spf1 -all"])
      const { sending_domain, of } = await customer.verify("zoned.com")
      expect(of("dkim")).to.include({ state: "ok", where: "authoritative", ttl_s: 300 })
      expect(of("spf")).to.deep.include({ state: "ok", where: "authoritative", found: [spf.value] })
      expect(sending_domain.status).to.equal("active")
      dns.fail(dkim.name, "lame")
      expect((await customer.verify("zoned.com")).of("dkim"), "no name server tells").to.include({
        state: "wrong",
        where: "cache",
        ttl_s: null,
      })
      dns.fail(dkim.name, undefined)
      dns.set("ns2.hoster.com", "A", "10.0.0.2")
      dns.asked.length = 0
      const cached = (await customer.verify("zoned.com")).of("spf")
      expect(cached, "only private addresses").to.include({ state: "wrong", where: "cache", ttl_s: 120 })
      expect(cached?.fix).to.contain("shows within 120 s")
    } finally {
      dns.cached = false
    }
  })

  it("are read over TCP where they are too long for UDP", async () => {
    const domain = `${"long-".repeat(11)}name.${"long-".repeat(11)}name.long.com`
    await customer.create(domain)
    expect((await customer.verify(domain)).of("dkim")).to.include({ state: "ok", where: "authoritative" })
  })

  it("are unknown while DNS servers answer with what is not DNS", async () => {
    const { dkim } = await customer.create("garbled.com")
    dns.fail(dkim.name, "garbage")
    const { sending_domain, of } = await customer.verify("garbled.com")
    expect(of("dkim")).to.include({ state: "unknown", where: "nowhere", problem: null })
    expect(sending_domain).to.include({ status: "pending", error_reason: "" })
  })
})
