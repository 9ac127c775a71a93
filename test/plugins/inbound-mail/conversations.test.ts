// Received mail for readers: conversations, senders, and authentication of the senders.
import { generateKeyPairSync } from "node:crypto"
import { expect } from "chai"
import { createTransport } from "nodemailer"
import type { Write } from "../../../core/contract/store.ts"
import { MailErasure } from "../../../plugins/people/inbound-mail/index.ts"
import { broadcastsOf } from "../../broadcasts.ts"
import { rivalOf } from "../../rival-commits.ts"
import { patiently, until } from "../../waiting.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { message, onStores, otherOrganization, type Receiving, startReceiving } from "./receiving.ts"

interface Conversation {
  readonly id: string
  readonly address: string
  readonly name: string
  readonly message_count: number
  readonly answered: boolean
  readonly last_direction: string
  readonly last_preview: string
}
interface Message {
  readonly direction: string
  readonly message_id: string
  readonly subject: string
  readonly text: string
  readonly attachments: { filename: string; media_type: string; size: number; inline: boolean }[]
  readonly inbound: {
    authentication: { spf: string; dkim: string; dmarc: string; policy: string; signed_by: string[]; header: string }
    quarantined: boolean
    automatic: boolean
    problem: string
  } | null
}
interface Read {
  readonly conversation: Conversation
  readonly messages: Message[]
  readonly next_cursor: string
}

const lead = "lead@elsewhere.test"

onStores("conversations by mail", "mongodb", ({ start }) => {
  let service: Receiving
  let mailbox: MailServer
  before(async () => {
    mailbox = await listenForMail()
    service = await startReceiving({ start, others: { email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" } } })
    await service.activate("example.com", { from_local_part: "team" })
  })
  after(async () => {
    await mailbox.close()
    await service.dns.close()
  })

  const path = "/v1/email-conversations"
  const api = async <T>(at: string, key?: string) =>
    (await patiently(() => service.host.api<T>("GET", at, undefined, key ? { key } : {}))).body
  const of = async (address: string) =>
    (await api<{ conversations: Conversation[] }>(`${path}?address=${encodeURIComponent(address)}`)).conversations
  const read = (id: string) => api<Read>(`${path}/${id}`)
  /** Waits until the conversation of an address has `count` messages, and returns it. */
  const grown = (address: string, count: number) =>
    until(`${count} messages of ${address}`, async () => {
      const [conversation] = await of(address)
      return conversation?.message_count === count ? read(conversation.id) : undefined
    })
  const delivered = async (from: string, raw: string, to = "team@example.com") =>
    expect(await service.send(from, to, raw)).to.match(/^250 /)

  it("begin with what was sent, and go on with the reply to it, from any address", async () => {
    const { body: pipeline } = await service.host.api<{ slug: string }>("POST", "/v1/event-pipelines", {
      name: "Thank",
      state: "active",
      pipeline: [{ type: "email.send", await: true, to: "{{ event.email }}", heading: "Thanks, Zoë" }],
    })
    await service.host.api("POST", `/v1/event-pipelines/${pipeline.slug}/events`, { payload: { email: "Lead@Elsewhere.test" } })
    const mail = await until("the mail", () => mailbox.received[0])
    const page = await grown(lead, 1)
    expect(page.conversation).to.include({ address: lead, answered: false, last_direction: "outbound" })
    expect(page.messages[0]).to.include({ direction: "outbound", message_id: mail.mail.messageId, subject: "Thanks, Zoë", inbound: null })
    const headers = {
      From: "=?utf-8?q?Zo=C3=AB?= <zoe@private.test>",
      "Message-ID": "<r1@private.test>",
      "In-Reply-To": mail.mail.messageId ?? "",
    }
    await delivered("zoe@private.test", message({ ...headers, "Content-Type": "text/plain; charset=utf-8" }, "Gern, Zoë\r\n"))
    const answered = await grown(lead, 2)
    expect(answered.conversation).to.include({
      id: page.conversation.id,
      answered: true,
      last_direction: "inbound",
      last_preview: "Gern, Zoë",
    })
    expect(answered.messages.map(({ direction }) => direction)).to.deep.equal(["inbound", "outbound"])
    expect(await of("zoe@private.test")).to.deep.equal([])
    await delivered("zoe@private.test", message({ ...headers, "Message-ID": "<r2@private.test>", "In-Reply-To": "<r1@private.test>" }))
    await grown(lead, 3)
    const events = (await broadcastsOf(service.host, "email_conversations", 2)).map(
      ({ data }) => (data as { conversation_id: string }).conversation_id,
    )
    expect(events).to.deep.equal([page.conversation.id, page.conversation.id])
  })

  it("are with the author's address where nothing was written before, however it is spelled", async () => {
    for (const [n, From] of ["Ada <ada@münchen.test>", "<ADA@XN--MNCHEN-3YA.test>"].entries())
      await delivered("ada@private.test", message({ From, "Message-ID": `<${n}@a.test>` }, `Message ${n}\r\n`))
    const { conversation, messages } = await grown("Ada@München.test", 2)
    expect(conversation).to.include({ address: "ada@xn--mnchen-3ya.test", name: "Ada", answered: true })
    expect(messages.map(({ text }) => text.trim())).to.deep.equal(["Message 1", "Message 0"])
    const first = await api<Read>(`${path}/${conversation.id}?limit=1`)
    expect(first.messages.map(({ text }) => text.trim())).to.deep.equal(["Message 1"])
    const second = await api<Read>(`${path}/${conversation.id}?limit=1&cursor=${first.next_cursor}`)
    expect([second.messages[0]?.text.trim(), second.next_cursor]).to.deep.equal(["Message 0", ""])
    const answered = await api<{ conversations: Conversation[] }>(`${path}?answered=false&domain=example.com`)
    expect(answered.conversations).to.deep.equal([])
  })

  it("keep each of many messages that come at once", async () => {
    await Promise.all(
      [1, 2, 3, 4, 5].map((n) =>
        delivered("many@elsewhere.test", message({ From: "many@elsewhere.test", "Message-ID": `<m${n}@a.test>` })),
      ),
    )
    const { messages } = await until("five messages", async () => {
      service.host.clock.move(500)
      const [conversation] = await of("many@elsewhere.test")
      return conversation?.message_count === 5 ? read(conversation.id) : undefined
    })
    expect(new Set(messages.map(({ message_id }) => message_id)).size).to.equal(5)
  })

  it("say whether SPF, DKIM and DMARC pass, and quarantine what its author's domain disowns", async () => {
    const { dns } = service
    const keys = generateKeyPairSync("rsa", { modulusLength: 2_048 })
    dns.set(
      "s1._domainkey.signed.test",
      "TXT",
      `v=DKIM1; k=rsa; p=${keys.publicKey.export({ type: "spki", format: "der" }).toString("base64")}`,
    )
    dns.set("_dmarc.signed.test", "TXT", "v=DMARC1; p=reject")
    dns.set("signed.test", "TXT", "v=spf1 ip4:192.0.2.9 -all")
    const composer = createTransport({ streamTransport: true, buffer: true, newline: "windows" })
    const signed = await composer.sendMail({
      from: "Sam <sam@signed.test>",
      to: "team@example.com",
      subject: "Signed",
      text: "It is me.",
      html: "<p>It is <b>me</b>.</p>",
      attachments: [{ filename: "../plan.pdf", content: Buffer.from("%PDF-1.7"), contentType: "application/pdf" }],
      dkim: {
        domainName: "signed.test",
        keySelector: "s1",
        privateKey: keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      },
    })
    const raw = (signed.message as Buffer).toString("utf8")
    await delivered("sam@signed.test", raw)
    const [good] = (await grown("sam@signed.test", 1)).messages
    expect(good?.inbound?.authentication).to.deep.include({ spf: "fail", dkim: "pass", dmarc: "pass", signed_by: ["signed.test"] })
    expect(good?.inbound?.authentication.header).to.match(/^inbound\.sender\.com; dkim=pass/)
    expect(good?.inbound).to.include({ quarantined: false, automatic: false, problem: "" })
    expect(good?.attachments).to.deep.equal([{ filename: ".._plan.pdf", media_type: "application/pdf", size: 8, inline: false }])
    await delivered("eve@evil.test", raw.replace("It is me.", "It is I.").replace(/^Message-ID: .*$/im, "Message-ID: <forged@evil.test>"))
    const [forged] = (await grown("sam@signed.test", 2)).messages
    expect(forged?.inbound?.authentication).to.include({ dmarc: "fail", policy: "reject" })
    expect(forged?.inbound).to.include({ quarantined: true })
    dns.fail("_dmarc.dark.test", "servfail")
    await delivered("d@dark.test", message({ From: "d@dark.test", "Message-ID": "<dark@dark.test>", "Auto-Submitted": "auto-replied" }))
    const [dark] = (await grown("d@dark.test", 1)).messages
    expect(dark?.inbound?.authentication.dmarc).to.equal("temperror")
    expect(dark?.inbound).to.include({ quarantined: false, automatic: true })
  })

  it("count a mail once after a faster commit changed the conversation", async () => {
    const mail = (id: string) => message({ From: "kim@elsewhere.test", "Message-ID": `<${id}@elsewhere.test>` })
    await delivered("kim@elsewhere.test", mail("first"))
    await grown("kim@elsewhere.test", 1)
    const rival = rivalOf(service.host, "email_conversations", 3)
    await delivered("kim@elsewhere.test", mail("second"))
    const { messages } = await grown("kim@elsewhere.test", 2)
    rival.stop()
    expect([rival.met, messages.length]).to.deep.equal([3, 2])
  })

  it("do not try a lead again for a mail that is erased meanwhile", async () => {
    const { host } = service
    const address = "gone@elsewhere.test"
    let tries = 0
    const only = (write: Write) => write.kind === "update" && write.update.$set?.["told_in"] !== undefined && ++tries > 0
    const faster = () => host.get(MailErasure)(host.organization.id, address, new AbortController().signal)
    const rival = rivalOf(host, "inbound_mails", 1, { only, faster })
    await delivered(address, message({ From: address, "Message-ID": "<gone@elsewhere.test>" }))
    await until("the job having ended", async () => {
      if (rival.met === 0) return false
      host.clock.move(500)
      const { jobs } = await api<{ jobs: { type: string }[] }>("/v1/jobs?state=queued&limit=200")
      return jobs.every(({ type }) => type !== "inbound_mail.process")
    })
    rival.stop()
    expect([tries, await of(address)]).to.deep.equal([2, []])
    expect((await api<{ leads: object[] }>(`/v1/leads?email=${address}`)).leads).to.deep.equal([])
  })

  it("are of the organization whose domain was written to, and read by its members alone", async () => {
    const other = await otherOrganization(service.host, "other")
    await service.activate("other.com", {}, other.key)
    // The domain of another organization; it has created the records of both.
    await service.activate("example.com", {}, other.key).catch(() => undefined)
    const to = ["team@example.com", "hello@other.com"]
    expect(await service.send("both@elsewhere.test", to, message({ From: "both@elsewhere.test", "Message-ID": "<both@a.test>" }))).to.match(
      /^250 /,
    )
    const here = await grown("both@elsewhere.test", 1)
    const list = () => api<{ conversations: Conversation[] }>(path, other.key)
    const { conversations } = await until("the other's conversation", async () => {
      const page = await list()
      return page.conversations.length > 0 ? page : undefined
    })
    expect(conversations.map(({ address, message_count }) => [address, message_count])).to.deep.equal([["both@elsewhere.test", 1]])
    expect(conversations[0]?.id).to.not.equal(here.conversation.id)
    const foreign = await service.host.api<{ details: { reason: string } }>("GET", `${path}/${here.conversation.id}`, undefined, {
      key: other.key,
    })
    expect([foreign.status, foreign.body.details.reason]).to.deep.equal([404, "email_conversation_not_found"])
    const guest = (await service.host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "guest", role: "guest" })).body.secret
    expect((await service.host.api("GET", path, undefined, { key: guest })).status).to.equal(403)
  })
})
