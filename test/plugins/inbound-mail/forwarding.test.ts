// Forwarding of received mail: to the mailbox of the domain, and to pipelines.
import { expect } from "chai"
import { authenticate } from "mailauth"
import PostalMime from "postal-mime"
import { patiently, until } from "../../waiting.ts"
import { listenForMail, type MailServer, type ReceivedMail } from "../email/mail-server.ts"
import { message, onStores, otherOrganization, type Receiving, startReceiving } from "./receiving.ts"

interface Listed {
  readonly conversations: { readonly id: string; readonly message_count: number }[]
}
interface Read {
  readonly messages: { readonly message_id: string; readonly inbound: { forward: { state: string; to: string; reason: string } | null } }[]
}
interface Executions {
  readonly executions: { readonly id: string; readonly status: string }[]
}

const team = "team@example.com"
const ada = "ada@mailboxes.test"

onStores("received mail", "embedded", ({ start }) => {
  let service: Receiving
  let mailbox: MailServer
  let refusing: number | undefined
  before(async () => {
    mailbox = await listenForMail(() => refusing)
    service = await startReceiving({ start, others: { email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" } } })
    await service.activate("first.com")
    await service.activate("example.com", { from_local_part: "team", from_name: "Team", forward_to_email: ada })
  })
  after(async () => {
    await mailbox.close()
    await service.dns.close()
  })

  const api = async <T>(method: string, at: string, body?: object) => {
    const answer = await patiently(() => service.host.api<T>(method, at, body))
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }
  const messagesOf = async (address: string) => {
    const { conversations } = await api<Listed>("GET", `/v1/email-conversations?address=${encodeURIComponent(address)}`)
    const [conversation] = conversations
    return conversation ? (await api<Read>("GET", `/v1/email-conversations/${conversation.id}`)).messages : []
  }
  /** Returns the outcome of forwarding a message, once it is settled. */
  const forwardOf = (address: string, messageId: string) =>
    until(`the forward of ${messageId}`, async () => {
      const match = (await messagesOf(address)).find((entry) => entry.message_id === messageId)
      const forward = match?.inbound.forward
      return match && forward?.state !== "queued" ? { forward } : undefined
    }).then(({ forward }) => forward)
  const delivered = async (from: string, raw: string, to: string | string[] = team) =>
    expect(await service.send(from, to, raw)).to.match(/^250 /)
  const arrived = (count: number) => until(`mail ${count + 1}`, () => mailbox.received[count])
  /** Authenticates a forwarded mail like the mailbox provider would, with the same DNS. */
  const judged = async ({ raw, from }: ReceivedMail, records: Map<string, string>) => {
    const resolver = async (name: string, type: string) => {
      const value = records.get(`${name} ${type}`)
      if (value === undefined) throw Object.assign(new Error(name), { code: "ENOTFOUND" })
      return [[value]]
    }
    const options = {
      ip: "127.0.0.1",
      sender: from,
      helo: "sender.com",
      resolver,
      disableArc: true,
      disableBimi: true,
      trustReceived: false,
    }
    const { dmarc, dkim } = await authenticate(Buffer.from(raw, "utf8"), options)
    return { dmarc: dmarc ? dmarc.status.result : "", dkim: dkim.results.map(({ status }) => status.result) }
  }

  it("is forwarded in the domain's own name, so that DMARC passes, with the author to reply to and the original attached", async () => {
    const boundary = "inner"
    const original = message(
      {
        From: '"Zoe, \\"the\\" lead" <zoe@elsewhere.test>',
        "Message-ID": "<f1@elsewhere.test>",
        Subject: "=?utf-8?q?Angebot=0D=0ABcc:_eve@evil.test?=",
        "Content-Type": `multipart/mixed; boundary="${boundary}"`,
      },
      `--${boundary}\r\nContent-Type: text/plain\r\n\r\nSee the plan.\r\n--${boundary}\r\nContent-Type: application/pdf; name="plan.pdf"\r\nContent-Disposition: attachment; filename="plan.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjc=\r\n--${boundary}--\r\n`,
    )
    await delivered("zoe@elsewhere.test", original)
    const forwarded = await arrived(0)
    expect(forwarded.recipients).to.deep.equal([ada])
    expect(forwarded.from).to.match(/^bounces\+[a-z0-9]+@bounce\.example\.com$/)
    expect(forwarded.mail.from).to.deep.include({ name: 'Zoe, "the" lead via example.com', address: team })
    expect(forwarded.mail.replyTo?.map(({ address }) => address)).to.deep.equal(["zoe@elsewhere.test"])
    expect(forwarded.mail.subject).to.equal("Angebot Bcc: eve@evil.test")
    expect(forwarded.mail.text).to.contain("See the plan.")
    const header = (key: string) => forwarded.mail.headers.filter((item) => item.key === key).map(({ value }) => value)
    expect(header("bcc")).to.deep.equal([])
    expect([header("x-original-from"), header("references"), header("auto-submitted")]).to.deep.equal([
      ["zoe@elsewhere.test"],
      ["<f1@elsewhere.test>"],
      ["auto-generated"],
    ])
    const records = new Map([
      ["_dmarc.example.com TXT", "v=DMARC1; p=reject"],
      ...(await api<{ dns_records: { name: string; type: string; value: string }[] }>("GET", "/v1/sending-domains/example.com")).dns_records
        .filter(({ name }) => name.includes("_domainkey"))
        .map(({ name, type, value }) => [`${name} ${type}`, value] as const),
    ])
    expect(await judged(forwarded, records)).to.deep.equal({ dmarc: "pass", dkim: ["pass"] })
    const parsed = await PostalMime.parse(forwarded.raw, { forceRfc822Attachments: true })
    const [attached] = parsed.attachments
    expect(attached).to.include({ mimeType: "message/rfc822", filename: "original.eml" })
    const inner = await PostalMime.parse(attached?.content ?? "")
    expect(inner.attachments.map(({ filename, mimeType }) => [filename, mimeType])).to.deep.equal([["plan.pdf", "application/pdf"]])
    expect(inner.headers.find(({ key }) => key === "from")?.value).to.contain("zoe@elsewhere.test")
    expect(await forwardOf("zoe@elsewhere.test", "<f1@elsewhere.test>")).to.deep.equal({ state: "sent", to: ada, reason: "" })
    expect(await messagesOf(ada), "mail to the mailbox is not a conversation").to.deep.equal([])
  })

  it("is not forwarded where it would go round, or nobody wants it", async () => {
    const count = mailbox.received.length
    const back = mailbox.received[0]?.raw ?? ""
    await delivered("bounces@bounce.example.com", back.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n"))
    const from = (name: string, more: Record<string, string>) =>
      message({ From: `${name}@x.test`, "Message-ID": `<${name}@x.test>`, ...more })
    await delivered("auto@x.test", from("auto", { "Auto-Submitted": "auto-replied" }))
    await delivered("bulk@x.test", from("bulk", { Precedence: "bulk" }))
    await delivered("", from("null", {}))
    await delivered(ada, from("ada", { From: `Ada <${ada.toUpperCase()}>` }))
    service.dns.set("_dmarc.forged.test", "TXT", "v=DMARC1; p=quarantine")
    await delivered("eve@evil.test", from("forged", { From: "x@forged.test" }))
    for (const [address, id, reason] of [
      ["auto@x.test", "<auto@x.test>", "automatic"],
      ["bulk@x.test", "<bulk@x.test>", "automatic"],
      ["null@x.test", "<null@x.test>", "automatic"],
      [ada, "<ada@x.test>", "author"],
      ["x@forged.test", "<forged@x.test>", "quarantined"],
      ["zoe@elsewhere.test", mailbox.received[0]?.mail.messageId ?? "", "loop"],
    ] as const)
      expect([reason, await forwardOf(address, id)]).to.deep.equal([reason, { state: "skipped", to: ada, reason }])
    await api("PATCH", "/v1/sending-domains/example.com", { forward_to_email: "hello@first.com" })
    await delivered("here@x.test", from("here", {}))
    expect((await forwardOf("here@x.test", "<here@x.test>"))?.reason).to.equal("received_here")
    await api("PATCH", "/v1/sending-domains/example.com", { forward_to_email: "" })
    await delivered("none@x.test", from("none", {}))
    expect(await forwardOf("none@x.test", "<none@x.test>")).to.equal(null)
    await api("PATCH", "/v1/sending-domains/example.com", { forward_to_email: ada })
    expect(mailbox.received).to.have.length(count)
  })

  it("is forwarded again until the mailbox takes it, and once", async () => {
    const count = mailbox.received.length
    refusing = 451
    await delivered("late@x.test", message({ From: "late@x.test", "Message-ID": "<late@x.test>" }))
    const tried = await until("the first try", () =>
      service.host.logged.find((line) => line.includes("inbound_mail.forward") && line.includes("mail_failed")),
    )
    refusing = undefined
    // Up to the next try and no further: the try has a deadline, and its job a lease.
    service.host.clock.move((JSON.parse(tried) as { again_in_ms: number }).again_in_ms)
    await arrived(count)
    expect((await forwardOf("late@x.test", "<late@x.test>"))?.state).to.equal("sent")
    refusing = 554
    await delivered("never@x.test", message({ From: "never@x.test", "Message-ID": "<never@x.test>" }))
    expect(await forwardOf("never@x.test", "<never@x.test>")).to.deep.equal({ state: "failed", to: ada, reason: "mail_refused" })
    refusing = undefined
    expect(mailbox.received).to.have.length(count + 1)
  })

  it("feeds the active pipelines of source_kind inbound_email, once each, and says so in their journal", async () => {
    await api("PATCH", "/v1/sending-domains/example.com", { forward_to_email: "" })
    const createPipeline = async (name: string, more: object = {}) =>
      api<{ slug: string; inbound_url: string | null; auth_mode: string }>("POST", "/v1/event-pipelines", {
        name,
        state: "active",
        source_kind: "inbound_email",
        pipeline: [
          {
            type: "dataset.write",
            dataset_slug: "replies",
            row: { from: "{{ event.from }}", text: "{{ event.text | strip }}", dmarc: "{{ event.authentication.dmarc }}" },
          },
        ],
        ...more,
      })
    const { slug, inbound_url, auth_mode } = await createPipeline("Replies")
    expect([inbound_url, auth_mode]).to.deep.equal([null, "none"])
    const idle = await createPipeline("Idle", { state: "disabled", pipeline: [] })
    const raw = message({ From: "fed@x.test", "Message-ID": "<fed@x.test>" }, "Please call me.\r\n")
    await delivered("fed@x.test", raw)
    await delivered("fed@x.test", raw)
    const entries = (of: string) => api<Executions>("GET", `/v1/event-pipelines/${of}/executions`).then(({ executions }) => executions)
    await until("the event", async () => (await entries(slug)).length > 0)
    const rows = await api<{ rows: { values: object }[] }>("GET", "/v1/datasets/replies/rows")
    expect(rows.rows).to.have.length(1)
    expect(rows.rows[0]?.values).to.include({ from: "fed@x.test", text: "Please call me.", dmarc: "none" })
    for (const [name, headers, sender] of [
      ["reply", { "Auto-Submitted": "auto-replied" }, "reply@x.test"],
      ["null", {}, ""],
      ["own", { "X-Millrace-Sent": "1" }, "own@x.test"],
    ] as const)
      await delivered(sender, message({ From: `${name}2@x.test`, "Message-ID": `<${name}2@x.test>`, ...headers }))
    await delivered("bulk@x.test", message({ From: "bulk2@x.test", "Message-ID": "<bulk2@x.test>", Precedence: "bulk" }))
    await until("the second event", async () => (await entries(slug)).length > 1)
    for (const name of ["reply2", "null2", "own2", "bulk2"])
      await until(name, async () => (await messagesOf(`${name}@x.test`)).length === 1)
    expect((await entries(slug)).map(({ status }) => status)).to.deep.equal(["accepted", "accepted"])
    expect(await entries(idle.slug)).to.deep.equal([])
  })

  it("is not waited for where DNS does not lead it here: replies go to the mailbox itself", async () => {
    const { key } = await otherOrganization(service.host, "elsewhere")
    await service.activate("nomx.com", { forward_to_email: ada }, key)
    const as = (method: string, at: string, body?: object) => patiently(() => service.host.api<{ slug: string }>(method, at, body, { key }))
    const document = { name: "Write", state: "active", pipeline: [{ type: "email.send", await: true, to: "lead@x.test", heading: "Hi" }] }
    const { body } = await as("POST", "/v1/event-pipelines", document)
    const replyTo = async () => {
      const count = mailbox.received.length
      await as("POST", `/v1/event-pipelines/${body.slug}/events`, { payload: {} })
      return (await arrived(count)).mail.replyTo?.map(({ address }) => address)
    }
    expect(await replyTo()).to.equal(undefined)
    service.dns.set("nomx.com", "MX")
    await as("POST", "/v1/sending-domains/nomx.com/verify")
    expect(await replyTo()).to.deep.equal([ada])
  })

  it("has pipelines that no request from outside reaches, and that verify nothing", async () => {
    const refused = await service.host.api<{ details: { reason: string } }>("POST", "/v1/event-pipelines", {
      name: "Signed",
      source_kind: "inbound_email",
      auth_mode: "shared_secret_header",
      pipeline: [],
    })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "invalid_fields"])
    const dry = await api<{ effects: { rows: { values: object }[] } }>("POST", "/v1/event-pipelines/replies/test", {
      payload: { message_id: "<1@a.test>", from: "a@a.test", text: "Hi ", authentication: { dmarc: "pass" } },
    })
    expect(dry.effects.rows[0]?.values).to.include({ from: "a@a.test", text: "Hi", dmarc: "pass" })
  })
})
