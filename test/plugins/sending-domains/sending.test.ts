// Mail of an organization with its own domain: the sender, and signatures that agree with DNS.
import { expect } from "chai"
import { authenticate } from "mailauth"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { afterHourlyCheck, type Domain } from "./customer.ts"
import { type DnsServer, listenForDns } from "./dns-server.ts"

onBothStores("mail from sending domains", ({ start }) => {
  let host: TestHost
  let dns: DnsServer
  let mailbox: MailServer
  before(async () => {
    dns = await listenForDns()
    mailbox = await listenForMail()
    host = await start({
      env: pluginSettings({
        email: { transport: "smtp", url: mailbox.url, from: "Service <no-reply@service.test>" },
        "sending-domains": {
          dns_servers: [dns.address],
          dns_timeout_ms: 30_000,
          spf_host: "spf.sender.com",
          return_path_host: "bounce.sender.com",
        },
      }),
    })
  })
  after(async () => {
    await mailbox.close()
    await dns.close()
  })

  const api = <T>(method: string, at: string, body?: object) => patiently(() => host.api<T>(method, at, body))

  it("is from the domain and signed with its key while it is active, and from the service otherwise", async () => {
    dns.set("spf.sender.com", "TXT", "v=spf1 ip4:192.0.2.1 -all")
    const pipeline = (
      await api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
        name: "Thank",
        state: "active",
        auth_mode: "none",
        pipeline: [{ type: "email.send", to: "{{ event.email }}", heading: "Thanks, {{ event.name }}" }],
      })
    ).body
    const newMails = async () => {
      const count = mailbox.received.length
      await patiently(() => host.send(pipeline, { email: "lead@elsewhere.test", name: "Zoë" }))
      return until("the mail", () => mailbox.received[count])
    }
    /** Authenticates like a mailbox provider, with keys from the same DNS. */
    const judged = async (raw: string) => {
      const verdict = await authenticate(Buffer.from(raw, "latin1"), {
        trustReceived: false,
        ip: "192.0.2.1",
        resolver: async (name: string) => {
          const record = body.dns_records.find((item) => item.name === name)
          if (!record) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" })
          return [[record.value]]
        },
      })
      return verdict.dkim.results.map((result) => ({
        result: result.status.result,
        domain: result.signingDomain,
        selector: result.selector,
      }))
    }
    const path = "/v1/sending-domains/example.com"
    const { body } = await api<Domain>("POST", "/v1/sending-domains", {
      domain: "example.com",
      from_local_part: "team",
      from_name: "Ada",
      forward_to_email: "ada@mailboxes.test",
    })
    const before = await newMails()
    expect([before.mail.from?.address, before.from]).to.deep.equal(["no-reply@service.test", "no-reply@service.test"])
    expect(before.raw).to.not.contain("DKIM-Signature")

    for (const { name, type, value } of body.dns_records) dns.set(name, type, value)
    expect((await api<{ sending_domain: Domain }>("POST", `${path}/verify`)).body.sending_domain.status).to.equal("active")
    const active = await newMails()
    expect(active.mail.from).to.include({ name: "Ada", address: "team@example.com" })
    expect(active.mail.replyTo?.[0]?.address).to.equal("ada@mailboxes.test")
    expect(active.from).to.match(/^bounces\+[a-z2-7]{26}@bounce\.example\.com$/)
    expect(active.recipients).to.deep.equal(["lead@elsewhere.test"])
    const selector = body.dns_records[0]?.name.split(".")[0]
    expect(await judged(active.raw)).to.deep.equal([{ result: "pass", domain: "example.com", selector }])
    expect((await judged(active.raw.replace("Thanks,", "Thinks,")))[0]?.result).to.not.equal("pass")

    dns.set(body.dns_records[0]?.name ?? "", "TXT")
    for (let n = 0; n < 3; n++) await afterHourlyCheck(host, async () => (await api<Domain>("GET", path)).body)
    expect((await api<Domain>("GET", path)).body.status).to.equal("failed")
    const after = await newMails()
    expect(after.mail.from?.address).to.equal("no-reply@service.test")
    expect(after.raw).to.not.contain("DKIM-Signature")
    expect(host.logged.join("")).to.not.contain("PRIVATE KEY")
  })
})
