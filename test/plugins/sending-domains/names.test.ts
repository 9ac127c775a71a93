// Allowed names of domains, and the records offered for them. Independent of the store, so one store suffices.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Customer, domainsEnv, path, type Refusal, typesOf } from "./customer.ts"
import { type DnsServer, listenForDns } from "./dns-server.ts"

describe("names of sending domains", () => {
  let host: TestHost
  let dns: DnsServer
  let customer: Customer
  before(async () => {
    dns = await listenForDns()
    host = await testHost({
      capture: false,
      env: domainsEnv(dns, { dns_timeout_ms: 30_000 }),
    })
    customer = new Customer(host, dns)
  })
  after(async () => {
    await host.stop()
    await dns.close()
  })

  it("have names of any script, and of any depth", async () => {
    expect((await customer.register("münchen.de")).body.domain).to.equal("xn--mnchen-3ya.de")
    expect((await customer.read("xn--mnchen-3ya.de")).domain).to.equal("xn--mnchen-3ya.de")
    expect((await customer.read(encodeURIComponent("münchen.de"))).domain).to.equal("xn--mnchen-3ya.de")
    expect((await customer.register("news.shop.co.uk")).body.domain).to.equal("news.shop.co.uk")
  })

  it("are not public suffixes, addresses or other text", async () => {
    for (const text of [
      "co.uk",
      "github.io",
      "192.0.2.1",
      "localhost",
      "https://example.com",
      "a@example.com",
      "example.com/..",
      "example.com#x",
      "%65xample.com",
      "no.such-suffix-here",
      "-a.com",
    ]) {
      const { status, body } = await customer.register(text)
      expect([text, status, body.details.reason, body.details.fields?.[0]?.path]).to.deep.equal([text, 400, "domain_refused", "domain"])
    }
  })

  it("offer the MX record where receiving was registered and no mailbox provider is there", async () => {
    dns.set("null.com", "MX", "0 .")
    for (const domain of ["free.com", "null.com"]) {
      const { body } = await customer.register(domain, { receiving: true })
      expect(typesOf(body)).to.include(`MX ${domain}`)
      expect(body).to.include({ existing_mx_detected: false, registered_receiving: true, receiving_enabled: true })
    }
    dns.set("taken.com", "MX", "1 aspmx.mailboxes.com")
    const { body } = await customer.register("taken.com", { receiving: true })
    expect(typesOf(body)).to.not.include("MX taken.com")
    expect(body).to.include({ existing_mx_detected: true, registered_receiving: true, receiving_enabled: false })
    const enabled = await host.api<Refusal>("PATCH", `${path}/taken.com`, { receiving_enabled: true })
    expect([enabled.status, enabled.body.details.reason]).to.deep.equal([400, "receiving_conflict"])
    expect((await customer.register("in.taken.com", { receiving: true })).body).to.include({ receiving_enabled: true })
  })

  it("are not registered for receiving while DNS does not tell who receives", async () => {
    dns.fail("dark.com", "servfail")
    const refused = await customer.register("dark.com", { receiving: true })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([503, "dns_unavailable"])
    expect(refused.body.message).to.contain("SERVFAIL")
    expect((await host.api("GET", `${path}/dark.com`)).status).to.equal(404)
    expect((await customer.register("dark.com")).body.status).to.equal("pending")
  })
})
