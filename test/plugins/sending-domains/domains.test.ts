// Sending domains for people of an organization: register, read, change and delete.
import { createPublicKey } from "node:crypto"
import { expect } from "chai"
import { type Sealed, Store, Vault } from "#core"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { collectionNamed } from "../collection-named.ts"
import { Customer, type Domain, domainsEnv, path, type Refusal, typesOf } from "./customer.ts"
import { type DnsServer, listenForDns } from "./dns-server.ts"

onBothStores("sending domains", ({ start }) => {
  let host: TestHost
  let dns: DnsServer
  let customer: Customer
  before(async () => {
    dns = await listenForDns()
    host = await start({
      env: domainsEnv(dns, { dns_timeout_ms: 30_000 }),
    })
    customer = new Customer(host, dns)
  })
  after(() => dns.close())

  it("are registered with the records to create, and the private key sealed", async () => {
    const { status, body } = await customer.register("Example.COM.", { from_name: "Ada" })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({
      domain: "example.com",
      status: "pending",
      error_reason: "",
      existing_mx_detected: false,
      forward_to_email: "",
      from_email: "",
      from_local_part: "hello",
      from_name: "Ada",
      last_checked_at: "",
      receiving_enabled: false,
      registered_receiving: false,
    })
    expect(Object.keys(body)).to.have.length(17)
    expect(body["warnings"], "return_path_host is as it ships").to.have.length(1)
    expect((body["warnings"] as string[])[0]).to.contain("return_path_host")
    expect(host.logged.join(""))
      .to.contain("sending domains cannot be verified")
      .and.contain('"unset":["return_path_host","receiving_host"]')
    expect(typesOf(body)).to.deep.equal([
      "TXT SELECTOR._domainkey.example.com",
      "TXT example.com",
      "CNAME bounce.example.com",
      "TXT _dmarc.example.com",
    ])
    expect(body.dns_records[1]?.value).to.equal("v=spf1 include:spf.sender.com ~all")
    const key = Buffer.from(body.dns_records[0]?.value.split("p=")[1] ?? "", "base64")
    const domain = await host
      .get(Store)
      .open(collectionNamed<{ private_key: Sealed }>(host, "sending_domains"), host.organization.id)
      .first({ domain: "example.com" })
    if (!domain) throw new Error("nothing is kept")
    const pem = host.get(Vault).open(domain.private_key, `sending domain ${domain.id}`)
    expect(createPublicKey(pem).asymmetricKeyDetails?.modulusLength).to.equal(2_048)
    expect(createPublicKey(pem).export({ type: "spki", format: "der" }).equals(key)).to.equal(true)
    expect(JSON.stringify([domain, body, host.logged])).to.not.contain("PRIVATE KEY")
    expect(await customer.read("EXAMPLE.com")).to.deep.equal(body)
  })

  it("are registered once in an organization", async () => {
    await customer.register("once.com")
    const again = await customer.register("ONCE.com")
    expect([again.status, again.body.details.reason]).to.deep.equal([409, "sending_domain_registered"])
    const both = await Promise.all([customer.register("twice.com"), customer.register("twice.com")])
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 409])
    expect(both.find(({ status }) => status === 409)?.body.details.reason).to.equal("sending_domain_registered")
  })

  it("change only in what is given, and never in what was registered", async () => {
    const { body: before } = await customer.register("change.com", { from_name: "Ada" })
    const changed = await host.api<Domain>("PATCH", `${path}/change.com`, { domain: "change.com", from_local_part: "team" })
    expect(changed.body).to.deep.equal({ ...before, from_local_part: "team", revision: 2, updated_at: changed.body["updated_at"] })
    expect((await host.api<Domain>("PATCH", `${path}/change.com`, changed.body)).body).to.deep.equal(changed.body)
    for (const domain of ["CHANGE.com", "Change.COM."]) {
      const same = await host.api<Domain>("PATCH", `${path}/change.com`, { domain, from_local_part: "team" })
      expect([same.status, same.body], domain).to.deep.equal([200, changed.body])
    }
    await customer.register("müller.com")
    expect((await host.api<Domain>("PATCH", `${path}/xn--mller-kva.com`, { domain: "Müller.com" })).status).to.equal(200)
    const other = await host.api<Refusal>("PATCH", `${path}/change.com`, { domain: "changes.com" })
    expect([other.status, other.body.details.reason]).to.deep.equal([400, "path_field_mismatch"])
    const enabled = await host.api<Refusal>("PATCH", `${path}/change.com`, { receiving_enabled: true })
    expect([enabled.status, enabled.body.details.reason]).to.deep.equal([400, "receiving_not_registered"])
    for (const [field, value] of [
      ["status", "active"],
      ["registered_receiving", true],
      ["from_local_part", "a b"],
      ["forward_to_email", "nobody"],
      ["from_name", "a\r\nBcc: eve@example.com"],
      ["from_name", "ceo@bank.example"],
      ["from_name", '"Ada" <ceo@bank.example>'],
      ["from_name", "\u202eadA"],
    ] as const) {
      const { status, body } = await host.api<Refusal>("PATCH", `${path}/change.com`, { [field]: value })
      expect([field, status, body.details.fields?.[0]?.path]).to.deep.equal([field, 400, field])
    }
    expect(await customer.read("change.com")).to.deep.equal(changed.body)
  })

  it("are gone once they are deleted, and have another key when they come back", async () => {
    const first = (await customer.register("gone.com")).body
    expect((await host.api("DELETE", `${path}/gone.com`)).body).to.deep.equal({ id: first.id, domain: "gone.com", deleted: true })
    const missing = await host.api<Refusal>("GET", `${path}/gone.com`)
    expect([missing.status, missing.body.details.reason]).to.deep.equal([404, "sending_domain_not_found"])
    const second = (await customer.register("gone.com")).body
    expect(second.dns_records[0]?.value).to.not.equal(first.dns_records[0]?.value)
    expect(second.dns_records[0]?.name).to.not.equal(first.dns_records[0]?.name)
    const all = (await host.api<{ sending_domains: Domain[] }>("GET", `${path}?limit=200`)).body.sending_domains
    expect(all[0]).to.deep.equal(second)
    const restored = await host.api<Refusal>("POST", `/v1/trash/${first.id}/restore`)
    expect([restored.status, restored.body.details.reason]).to.deep.equal([409, "sending_domain_registered"])
    await host.api("DELETE", `${path}/gone.com`)
    expect((await host.api("POST", `/v1/trash/${second.id}/restore`)).status).to.equal(200)
    expect(await customer.read("gone.com")).to.deep.include({ dns_records: second.dns_records, status: "pending", revision: 2 })
  })
})
