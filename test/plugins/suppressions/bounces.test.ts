// Bounces and complaints over real SMTP. A message leaves, its report arrives at the return path, and its address receives no
// further mail. Forged reports have no effect.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { Mailer } from "../../../plugins/people/email/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently, until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { type Receiving, startReceiving } from "../inbound-mail/receiving.ts"
import { SmtpClient } from "../inbound-mail/smtp-client.ts"
import { bounce, complaint } from "./reports.ts"

interface Entry {
  readonly address: string
  readonly reason: string
  readonly source: string
  readonly evidence: { message_id: string; smtp_status: string | null; report: string }
}

const dayMs = 86_400_000

onBothStores("bounces and complaints", ({ start }) => {
  let service: Receiving
  let mailbox: MailServer
  before(async () => {
    mailbox = await listenForMail()
    service = await startReceiving({
      start,
      others: { email: { transport: "smtp", url: mailbox.url }, suppressions: { soft_bounces: 3, soft_bounce_days: 2 } },
      settings: { max_connections_per_address: 50, messages_per_minute_per_address: 1_000 },
    })
    await service.activate("example.com", { receiving: false })
  })
  after(async () => {
    session?.close()
    await mailbox.close()
    await service.dns.close()
  })

  let sends = 0
  /** Sends a message. Returns its envelope sender and its id. */
  const deliver = async (to: string, more: object = {}) => {
    const message = { organization: service.host.organization.id, to, heading: "Hello", at: "2026-01-02T03:04:05.006Z" }
    const receipt = await service.host.get(Mailer).send({ ...message, idempotencyKey: `message ${sends++}`, ...more })
    expect(receipt.message_id, to).to.be.a("string")
    const from = mailbox.received.at(-1)?.from ?? ""
    expect(from).to.match(/^bounces\+[a-z2-7]{26}@bounce\.example\.com$/)
    return { from, id: receipt.message_id }
  }
  const isHeldBack = async (to: string) => {
    const message = { organization: service.host.organization.id, to, heading: "Again", at: "2026-01-02T03:04:05.006Z" }
    return (await service.host.get(Mailer).send({ ...message, idempotencyKey: `message ${sends++}` })).message_id === null
  }
  const entries = async () =>
    (await patiently(() => service.host.api<{ suppressions: Entry[] }>("GET", "/v1/suppressions?limit=200"))).body.suppressions
  const entryOf = async (address: string) => (await entries()).find((entry) => entry.address === address)
  let arrived = 0
  /** One session for many messages: a server that checks for early talkers delays each session. */
  let session: SmtpClient | undefined
  /** Delivers a report to the return path, and waits until it has been handled. */
  const report = async (to: string | string[], message: string) => {
    session ??= await SmtpClient.open(service.port)
    expect(await session.send("", typeof to === "string" ? [to] : to, message)).to.match(/^250 /)
    arrived++
    const { host } = service
    await until("the report to be handled", async () => {
      const mails = await host
        .get(Store)
        .open(collectionNamed(host, "inbound_mails"), host.organization.id)
        .find({ handled_by: "bounces" }, { limit: 200 })
      return mails.length === arrived
    })
  }

  it("end the mail to an address that a bounce to our own message names, with its evidence", async () => {
    const { from, id } = await deliver("Gone@elsewhere.test")
    await report(from.toUpperCase(), bounce([{ final: "gone@elsewhere.test", status: "5.1.1", diagnostic: "550 5.1.1 No such user" }]))
    const entry = await entryOf("gone@elsewhere.test")
    expect(entry).to.deep.include({ reason: "hard_bounce", source: "bounce" })
    expect(entry?.evidence).to.include({ message_id: id, smtp_status: "5.1.1" })
    expect(entry?.evidence.report).to.equal("smtp; 550 5.1.1 No such user Reported by dns; mx.elsewhere.test.")
    expect(await isHeldBack("GONE@elsewhere.test")).to.equal(true)
    await report(from, bounce([{ final: "gone@elsewhere.test", status: "5.1.1" }]))
    expect(await entryOf("gone@elsewhere.test"), "after a second bounce").to.deep.equal(entry)
  })

  it("are read in the forms that servers give them", async () => {
    const forms: [address: string, status: string | undefined, message: (to: string) => string][] = [
      ["mixed@elsewhere.test", "5.2.1", (final) => bounce([{ final, status: "5.2.1 (mailbox disabled)" }], "multipart/mixed")],
      ["codeless@elsewhere.test", "5.0.0", (final) => bounce([{ final, diagnostic: "550 unknown user" }])],
      ["closer@elsewhere.test", "5.1.10", (final) => bounce([{ final, status: "5.0.0", diagnostic: "550 #5.1.10 null MX" }])],
      ["alias@elsewhere.test", "5.4.1", (original) => bounce([{ final: "real@inside.test", original, status: "5.4.1" }])],
    ]
    for (const [address, status, message] of forms) {
      await report((await deliver(address)).from, message(address))
      expect([address, (await entryOf(address))?.evidence.smtp_status]).to.deep.equal([address, status])
    }
    const two = await deliver("one@elsewhere.test, two@elsewhere.test, three@elsewhere.test")
    await report(
      two.from,
      bounce([
        { final: "one@elsewhere.test", status: "5.1.1" },
        { final: "two@elsewhere.test", action: "delivered", status: "2.0.0" },
        { final: "three@elsewhere.test", status: "5.7.1", diagnostic: "550 5.7.1 Blocked" },
        { final: "three@elsewhere.test", status: "5.7.1" },
      ]),
    )
    expect(await entryOf("one@elsewhere.test")).to.include({ reason: "hard_bounce" })
    expect([await isHeldBack("two@elsewhere.test"), await isHeldBack("three@elsewhere.test")]).to.deep.equal([false, false])
  })

  it("are read without a machine-readable part, from qmail and Exim", async () => {
    const plain = (headers: string, text: string) =>
      `From: MAILER-DAEMON@elsewhere.test\r\nSubject: failure notice\r\n${headers}\r\n${text.replaceAll("\n", "\r\n")}`
    const intro = "Hi. This is the qmail-send program at elsewhere.test.\nI'm afraid I wasn't able to deliver your message.\n\n"
    const copy = "--- Below this line is a copy of the message.\n\nTo: <safe@elsewhere.test>:\n"
    const forms: [address: string, status: string, message: string][] = [
      ["q1@elsewhere.test", "5.1.1", plain("", `${intro}<q1@elsewhere.test>:\nSorry, no mailbox here by that name. (#5.1.1)\n\n${copy}`)],
      [
        "q2@elsewhere.test",
        "5.0.0",
        plain(
          "",
          `${intro}<q2@elsewhere.test>:\n192.0.2.1 does not like recipient.\nRemote host said: 550 no such user\nGiving up.\n\n${copy}`,
        ),
      ],
      [
        "x1@elsewhere.test",
        "5.1.1",
        plain(
          "X-Failed-Recipients: x1@elsewhere.test\r\n",
          "This message was created automatically by mail delivery software.\n\n  x1@elsewhere.test\n    host mx.elsewhere.test [192.0.2.1]: 550 5.1.1 No such user\n\n--- This is a copy\n",
        ),
      ],
    ]
    await deliver("safe@elsewhere.test")
    for (const [address, status, message] of forms) {
      await report((await deliver(address)).from, message)
      expect([address, (await entryOf(address))?.evidence.smtp_status]).to.deep.equal([address, status])
    }
    expect(await entryOf("safe@elsewhere.test")).to.equal(undefined)
  })

  it("that may pass count once a message, and end the mail once they go on for days", async () => {
    const busy = "busy@elsewhere.test"
    const soft = (action = "failed") => bounce([{ final: busy, action, status: "4.2.2", diagnostic: "452 4.2.2 Full" }])
    const first = await deliver(busy)
    for (const action of ["delayed", "delayed", "failed", "failed"]) await report(first.from, soft(action))
    await report((await deliver(busy)).from, soft())
    await report((await deliver(busy)).from, soft())
    expect(await entryOf(busy), "three messages of one day").to.equal(undefined)
    session?.close()
    session = undefined
    service.host.clock.move(dayMs)
    const last = await deliver(busy)
    await report(last.from, soft())
    expect(await entryOf(busy)).to.deep.include({ reason: "hard_bounce", source: "bounce" })
    expect((await entryOf(busy))?.evidence.report).to.match(/^4 messages bounced on 2 days\. The last: smtp; 452 4\.2\.2 Full/)
    expect(await isHeldBack(busy)).to.equal(true)
  })

  it("from users of a mailbox provider are complaints, wherever it puts what we need", async () => {
    const complaints = "complaints@bounce.example.com"
    const to = async (name: string) => ({ to: `${name}@elsewhere.test`, ...(await deliver(`${name}@elsewhere.test`)) })
    const [plain, redacted, direct] = [await to("annoyed"), await to("hidden"), await to("direct")]
    await report(complaints, complaint({ mailFrom: plain.from, to: plain.to }))
    await report(complaints, complaint({ returnPath: redacted.from }))
    await report(direct.from, complaint({ type: "opt-out" }))
    expect(await entryOf(plain.to)).to.deep.include({ reason: "complaint", source: "feedback_report" })
    expect((await entryOf(plain.to))?.evidence).to.deep.include({
      message_id: plain.id,
      report: "Feedback-Type: abuse. Reported by Provider/1.0.",
    })
    expect(await entryOf(redacted.to)).to.include({ reason: "complaint" })
    expect(await entryOf(direct.to)).to.include({ reason: "unsubscribe" })
    expect(await isHeldBack(plain.to)).to.equal(true)
    const content = await to("content")
    await report(complaints, complaint({ type: "not-spam", mailFrom: content.from, to: content.to }))
    const several = await deliver("several@elsewhere.test, others@elsewhere.test")
    await report(complaints, complaint({ mailFrom: several.from }))
    for (const address of [content.to, "several@elsewhere.test", "others@elsewhere.test"])
      expect(await entryOf(address), address).to.equal(undefined)
  })

  it("of another organization's mail from the same domain enter its list alone", async () => {
    const { host } = service
    const other = await host.get(UnitsOfWork).run((work) => {
      const { id } = host.get(Organizations).create(work, { name: "Other" })
      const input = { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null } as const
      return { id, key: host.get(ApiKeys).mint(work, id, input).text }
    })
    await service.activate("example.com", { receiving: false }, other.key)
    const before = await entries()
    const { from, id } = await deliver("shared@elsewhere.test", { organization: other.id })
    await report(from, bounce([{ final: "shared@elsewhere.test", status: "5.1.1" }]))
    expect(await entries()).to.deep.equal(before)
    expect(await isHeldBack("shared@elsewhere.test")).to.equal(false)
    const theirs = await patiently(() => host.api<{ suppressions: Entry[] }>("GET", "/v1/suppressions", undefined, { key: other.key }))
    expect(theirs.body.suppressions.map(({ address, evidence }) => [address, evidence.message_id])).to.deep.equal([
      ["shared@elsewhere.test", id],
    ])
  })

  it("that are made up have no effect", async () => {
    const { from } = await deliver("target@elsewhere.test")
    const before = await entries()
    const forged = from.replace(/\+.{4}/, (old) => (old === "+aaaa" ? "+bbbb" : "+aaaa"))
    const hard = (final: string) => bounce([{ final, status: "5.1.1" }])
    await report(forged, hard("target@elsewhere.test"))
    await report(from, hard("somebody@elsewhere.test"))
    await report(from, bounce([{ final: "target@elsewhere.test", action: "relayed", status: "5.1.1" }]))
    await report(
      from,
      "From: target@elsewhere.test\r\nMessage-ID: <away@elsewhere.test>\r\nSubject: Out of office\r\n\r\nStatus: 5.1.1\r\n",
    )
    await report(from, bounce([{ final: "target@elsewhere.test", status: "nonsense", diagnostic: "x".repeat(5_000) }]))
    await report("complaints@bounce.example.com", complaint({ mailFrom: forged, to: "target@elsewhere.test" }))
    await report("complaints@bounce.example.com", complaint({ mailFrom: from, to: "somebody@elsewhere.test" }))
    for (const to of ["bounces@bounce.example.com", "bounces+short@bounce.example.com", "other@bounce.example.com"])
      expect(await service.send("", to, hard("target@elsewhere.test")), to).to.match(/^550 5\.1\.1 /)
    expect(await entries()).to.deep.equal(before)
    expect(await isHeldBack("target@elsewhere.test")).to.equal(false)
  })
})
