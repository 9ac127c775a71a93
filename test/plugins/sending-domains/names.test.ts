// Which domains may be registered, and what is offered for them. The store has no part in it, so one suffices.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { pluginSettings } from "../buckets/stores.ts"
import { type DnsServer, listenForDns } from "./dns-server.ts"

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { reason?: string; fields?: { path: string; message: string }[] }
}
interface Domain extends Refusal {
  readonly domain: string
  readonly status: string
  readonly dns_records: { name: string; type: string; value: string }[]
  readonly [field: string]: unknown
}

describe("names of sending domains", () => {
  let host: TestHost
  let dns: DnsServer
  before(async () => {
    dns = await listenForDns()
    host = await testHost({
      capture: false,
      env: pluginSettings({ "sending-domains": { dns_servers: [dns.address], dns_timeout_ms: 30_000, spf_host: "spf.sender.com" } }),
    })
  })
  after(async () => {
    await host.stop()
    await dns.close()
  })

  const path = "/v1/sending-domains"
  const register = (domain: string, more: object = {}) => host.api<Domain>("POST", path, { domain, ...more })
  const read = async (domain: string) => (await host.api<Domain>("GET", `${path}/${domain}`)).body
  const typesOf = ({ dns_records }: Domain) => dns_records.map(({ type, name }) => `${type} ${name.replace(/^mr[a-z0-9]+/, "SELECTOR")}`)

  it("have names of any script, and of any depth", async () => {
    expect((await register("münchen.de")).body.domain).to.equal("xn--mnchen-3ya.de")
    expect((await read("xn--mnchen-3ya.de")).domain).to.equal("xn--mnchen-3ya.de")
    expect((await read(encodeURIComponent("münchen.de"))).domain).to.equal("xn--mnchen-3ya.de")
    expect((await register("news.shop.co.uk")).body.domain).to.equal("news.shop.co.uk")
  })

  it("are not public suffixes, addresses or other text", async () => {
    for (const text of [
      "co.uk",
      "github.io",
      "192.0.2.1",
      "localhost",
      "https://example.com",
      "a@example.com",
      "no.such-suffix-here",
      "-a.com",
    ]) {
      const { status, body } = await register(text)
      expect([text, status, body.details.reason, body.details.fields?.[0]?.path]).to.deep.equal([text, 400, "domain_refused", "domain"])
    }
  })

  it("offer the MX record where receiving was registered and no mailbox provider is there", async () => {
    dns.set("null.com", "MX", "0 .")
    for (const domain of ["free.com", "null.com"]) {
      const { body } = await register(domain, { receiving: true })
      expect(typesOf(body)).to.include(`MX ${domain}`)
      expect(body).to.include({ existing_mx_detected: false, registered_receiving: true, receiving_enabled: true })
    }
    dns.set("taken.com", "MX", "1 aspmx.mailboxes.com")
    const { body } = await register("taken.com", { receiving: true })
    expect(typesOf(body)).to.not.include("MX taken.com")
    expect(body).to.include({ existing_mx_detected: true, registered_receiving: true, receiving_enabled: false })
    const enabled = await host.api<Refusal>("PATCH", `${path}/taken.com`, { receiving_enabled: true })
    expect([enabled.status, enabled.body.details.reason]).to.deep.equal([400, "receiving_conflict"])
    expect((await register("in.taken.com", { receiving: true })).body).to.include({ receiving_enabled: true })
  })

  it("are not registered for receiving while DNS does not tell who receives", async () => {
    dns.fail("dark.com", "servfail")
    const refused = await register("dark.com", { receiving: true })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([503, "dns_unavailable"])
    expect(refused.body.message).to.contain("SERVFAIL")
    expect((await host.api("GET", `${path}/dark.com`)).status).to.equal(404)
    expect((await register("dark.com")).body.status).to.equal("pending")
  })
})
