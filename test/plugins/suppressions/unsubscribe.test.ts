// One-click unsubscription (RFC 8058), from the delivered message to the next, suppressed one.
import { expect } from "chai"
import { authenticate } from "mailauth"
import { type TestHost, testHost } from "#core/testing"
import { Mailer } from "../../../plugins/people/email/index.ts"
import { failureOf } from "../../refusal.ts"
import { patiently } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listenForMail, type MailServer, type ReceivedMail } from "../email/mail-server.ts"
import { type DnsServer, listenForDns } from "../sending-domains/dns-server.ts"

interface Domain {
  readonly dns_records: { name: string; type: "CNAME" | "MX" | "TXT"; value: string }[]
}
interface Listed {
  readonly suppressions: { reason: string; source: string; evidence: { message_id: string; report: string } }[]
}

const publicUrl = "https://mail.acme.test/at"

describe("unsubscribe links", () => {
  let host: TestHost
  let dns: DnsServer
  let mailbox: MailServer
  before(async () => {
    dns = await listenForDns()
    mailbox = await listenForMail()
    host = await testHost({
      capture: false,
      env: {
        MILLRACE_PUBLIC_URL: publicUrl,
        ...pluginSettings({
          email: { transport: "smtp", url: mailbox.url, from: "Service <no-reply@service.test>" },
          "sending-domains": {
            dns_servers: [dns.address],
            dns_timeout_ms: 30_000,
            spf_host: "spf.sender.com",
            return_path_host: "bounce.sender.com",
          },
        }),
      },
    })
  })
  after(async () => {
    await host.stop()
    await mailbox.close()
    await dns.close()
  })

  const send = (to: string, more: object = {}) =>
    host.get(Mailer).send({
      organization: host.organization.id,
      category: "marketing",
      to,
      heading: "News",
      idempotencyKey: `to ${to} ${JSON.stringify(more)}`,
      at: "2026-01-02T03:04:05.006Z",
      ...more,
    })
  const header = ({ mail }: ReceivedMail, name: string) => mail.headers.find(({ key }) => key === name)?.value
  const linkOf = (mail: ReceivedMail) => {
    const url = /^<(https:\/\/.+)>$/.exec(header(mail, "list-unsubscribe") ?? "")?.[1] ?? expect.fail("no link")
    expect(url.startsWith(`${publicUrl}/v1/unsubscribe/`)).to.equal(true)
    return { url, path: url.slice(publicUrl.length) }
  }
  const post = (path: string, body = "List-Unsubscribe=One-Click") =>
    patiently(() => fetch(host.url + path, { method: "POST", body, headers: { "content-type": "application/x-www-form-urlencoded" } }))
  const entriesOf = async (address: string) =>
    (await patiently(() => host.api<Listed>("GET", `/v1/suppressions?address=${encodeURIComponent(address)}`))).body.suppressions

  it("stand in both headers, signed, and in the message", async () => {
    dns.set("spf.sender.com", "TXT", "v=spf1 ip4:192.0.2.1 -all")
    const { body } = await patiently(() => host.api<Domain>("POST", "/v1/sending-domains", { domain: "example.com" }))
    for (const { name, type, value } of body.dns_records) dns.set(name, type, value)
    expect((await patiently(() => host.api("POST", "/v1/sending-domains/example.com/verify"))).status).to.equal(200)
    await send("Reader@example.net")
    const mail = mailbox.received.at(-1) ?? expect.fail()
    const { url } = linkOf(mail)
    expect(header(mail, "list-unsubscribe-post")).to.equal("List-Unsubscribe=One-Click")
    expect(mail.mail.text).to.contain(`Unsubscribe: ${url}`)
    expect(mail.mail.html).to.contain(`<a href="${url}">Unsubscribe</a>`)
    expect(url).to.not.match(/reader|example\.net/i)
    expect(url).to.not.contain(host.organization.id)
    const judged = async (raw: string) => {
      const resolver = async (name: string) => [[body.dns_records.find((item) => item.name === name)?.value ?? ""]]
      const verdict = await authenticate(Buffer.from(raw, "latin1"), { trustReceived: false, ip: "192.0.2.1", resolver })
      return verdict.dkim.results[0]
    }
    const verdict = await judged(mail.raw)
    expect(verdict?.status.result).to.equal("pass")
    expect(verdict?.signingHeaders?.keys.toLowerCase().split(": ")).to.include.members(["list-unsubscribe", "list-unsubscribe-post"])
    for (const [from, to] of [
      ["List-Unsubscribe: <https", "List-Unsubscribe: <http"],
      ["List-Unsubscribe=One-Click", "List-Unsubscribe=Two-Click"],
    ] as const)
      expect((await judged(mail.raw.replace(from, to)))?.status.result, from).to.not.equal("pass")
    await send("Reader@example.net")
    expect(linkOf(mailbox.received.at(-1) ?? expect.fail()).url, "of the same message").to.equal(url)
    for (const category of ["transactional", "notice"]) {
      await send("reader@example.net", { category })
      const other = mailbox.received.at(-1) ?? expect.fail()
      expect([header(other, "list-unsubscribe"), header(other, "list-unsubscribe-post")]).to.deep.equal([undefined, undefined])
      expect(other.mail.text).to.not.contain("Unsubscribe")
    }
    expect((await failureOf(send("a@b.test, c@d.test"))).details).to.include({ reason: "recipients_refused" })
    expect((await failureOf(send("a@b.test", { bcc: "c@d.test" }))).details).to.include({ reason: "recipients_refused" })
  })

  it("unsubscribe by a post at once, by nothing else, and however often it is repeated", async () => {
    const receipt = await send("Leaving@example.net")
    const { path } = linkOf(mailbox.received.at(-1) ?? expect.fail())
    const response = await patiently(() => fetch(host.url + path))
    expect(response.status).to.equal(200)
    expect(response.headers.get("content-security-policy")).to.match(/^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'/)
    expect(response.headers.get("cache-control")).to.equal("no-store")
    const html = await response.text()
    expect(html).to.contain('<form method="post">').and.contain("Leaving@example.net").and.not.contain("<script")
    expect(await entriesOf("leaving@example.net")).to.deep.equal([])
    const posts = await Promise.all([post(path), post(path), post(path, "confirmed=page")])
    expect(posts.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    const [entry, ...others] = await entriesOf("leaving@example.net")
    expect(others).to.deep.equal([])
    expect(entry).to.deep.include({ reason: "unsubscribe", source: "link" })
    expect(entry?.evidence.message_id).to.equal(receipt.message_id)
    expect(entry?.evidence.report).to.match(/8058|page/)
    expect((await post(path)).status).to.equal(200)
    expect(await entriesOf("leaving@example.net")).to.deep.equal([entry])
    const count = mailbox.received.length
    expect(await send("leaving@EXAMPLE.net", { heading: "More" })).to.deep.include({ message_id: null })
    expect(mailbox.received).to.have.length(count)
    expect(await send("leaving@example.net", { category: "transactional" })).to.deep.include({ accepted: ["leaving@example.net"] })
  })

  it("are of no use when changed, shortened, spelled otherwise or made by others", async () => {
    await send("victim@example.net")
    const { path } = linkOf(mailbox.received.at(-1) ?? expect.fail())
    const token = path.split("/").at(-1) ?? ""
    const flipped = (at: number) => token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1)
    const forged = [0, 20, 60, token.length - 3].map(flipped)
    for (const other of [...forged, token.slice(0, -1), `${token}A`, `${token}=`, "x", "A".repeat(2_000), "%00", "..%2f"]) {
      const answers = await Promise.all([fetch(`${host.url}/v1/unsubscribe/${other}`), post(`/v1/unsubscribe/${other}`)])
      expect(
        answers.map(({ status }) => status),
        other,
      ).to.deep.equal([404, 404])
    }
    expect(await entriesOf("victim@example.net")).to.deep.equal([])
    expect((await post(path, "x".repeat(100_000))).status).to.equal(413)
    expect(await entriesOf("victim@example.net")).to.deep.equal([])
  })
})
