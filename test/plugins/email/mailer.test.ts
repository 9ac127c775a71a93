// Delivered messages: at a real SMTP server, and as files in the outbox.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import PostalMime from "postal-mime"
import email from "../../../plugins/people/email/index.ts"
import { createMailer, type Mailer } from "../../../plugins/people/email/mailer.ts"
import { outboxTransport } from "../../../plugins/people/email/outbox.ts"
import { createSenders } from "../../../plugins/people/email/senders.ts"
import { smtpTransport } from "../../../plugins/people/email/smtp.ts"
import { failureOf } from "../../refusal.ts"
import { type Fault, faultyMailServer } from "./faulty-mail-server.ts"
import { listenForMail, type MailServer } from "./mail-server.ts"

const message = {
  organization: "org-1",
  to: "Ada <ada@example.com>",
  heading: "New lead",
  fields: [{ label: "Email", value: "bob@example.com" }],
  idempotencyKey: "execution-1/step",
  at: "2026-01-02T03:04:05.006Z",
}
const senders = createSenders({ from: { name: "Millrace", address: "no-reply@example.com" } })

describe("email: smtp", () => {
  let server: MailServer
  let mailer: Mailer
  before(async () => {
    server = await listenForMail((recipient) => (recipient.startsWith("gone") ? 550 : recipient.startsWith("busy") ? 451 : undefined))
    mailer = createMailer(senders, smtpTransport(server.url), "Sent by Millrace")
  })
  beforeEach(() => {
    server.received.length = 0
  })
  after(async () => {
    await mailer.close()
    await server.close()
  })
  const only = () => {
    expect(server.received).to.have.length(1)
    return server.received[0] ?? expect.fail()
  }

  it("delivers subject, both bodies and every recipient, and hides bcc", async () => {
    const receipt = await mailer.send({
      ...message,
      to: ["Ada <ada@example.com>, ada@EXAMPLE.com", "李雷 <lilei@例え.jp>"],
      cc: "cc@example.com",
      bcc: ["hidden@example.com", "cc@example.com"],
      reply_to: "Bob <bob@example.com>",
      subject: "Ein Lead für Ünï",
    })
    const { recipients, mail, raw, from } = only()
    expect(from).to.equal("no-reply@example.com")
    expect(recipients).to.deep.equal(["ada@example.com", "lilei@例え.jp", "cc@example.com", "hidden@example.com"])
    expect(receipt.accepted).to.have.length(4)
    expect(raw).to.include("<lilei@xn--r8jz45g.jp>")
    expect(raw).not.to.include("hidden@example.com")
    expect(mail.subject).to.equal("Ein Lead für Ünï")
    expect(mail.to?.[1]).to.include({ name: "李雷" })
    expect(mail.replyTo?.[0]).to.include({ address: "bob@example.com", name: "Bob" })
    expect(mail.html).to.include('<a href="mailto:bob@example.com">bob@example.com</a>')
    expect(mail.text).to.include("Email: bob@example.com")
    expect(mail.headers.find(({ key }) => key === "auto-submitted")?.value).to.equal("auto-generated")
  })

  it("sends to addresses without hidden characters", async () => {
    await mailer.send({
      ...message,
      to: "a\u200Bda@example.com",
      cc: "Bob <\u202Abob@exam\u00ADple.com\u202C>",
      reply_to: "\uFEFFeve@example.com",
    })
    const { recipients, mail } = only()
    expect(recipients).to.deep.equal(["ada@example.com", "bob@example.com"])
    expect(mail.replyTo?.[0]?.address).to.equal("eve@example.com")
  })

  it("keeps one id over retries and gives another message another", async () => {
    const first = await mailer.send(message)
    const again = await mailer.send(message)
    const other = await mailer.send({ ...message, idempotencyKey: "execution-2/step" })
    expect(again.message_id).to.equal(first.message_id)
    expect(other.message_id).not.to.equal(first.message_id)
    expect(server.received.map(({ mail }) => mail.messageId)).to.deep.equal([first.message_id, first.message_id, other.message_id])
    expect(first.message_id).to.match(/^<[0-9a-f]{40}@example\.com>$/)
  })

  it("folds line breaks out of subjects and names, so that no header can be added", async () => {
    await mailer.send({ ...message, heading: "Hi\r\nBcc: victim@example.com\r\n\r\n<b>body", subject: "S\nX-Evil: 1\u0085\u2028Y: 2" })
    const { mail, recipients } = only()
    expect(recipients).to.deep.equal(["ada@example.com"])
    expect(mail.subject).to.equal("S X-Evil: 1 Y: 2")
    expect(mail.headers.map(({ key }) => key)).not.to.include.members(["x-evil"])
    expect(mail.bcc ?? []).to.deep.equal([])
  })

  it("refuses bad addresses and too many of them, and sends nothing", async () => {
    const many = Array.from({ length: 51 }, (_, index) => `p${index}@example.com`)
    const bad = [
      { to: "ada@example.com\r\nBcc: x@y.test" },
      { to: many },
      { to: many.slice(0, 30), bcc: many.slice(30) },
      { to: [] },
      { reply_to: "nobody" },
      { cc: "a b" },
    ]
    for (const change of bad) {
      const error = await failureOf(mailer.send({ ...message, ...change }))
      expect(error.code, JSON.stringify(change)).to.equal("invalid_argument")
      expect(error.details, JSON.stringify(change))
        .to.include({ retryable: false })
        .and.have.property("reason")
        .that.is.oneOf(["invalid_address", "recipients_refused"])
    }
    expect(server.received).to.have.length(0)
    await mailer.send({ ...message, to: many.slice(0, 50) })
    expect(only().recipients).to.have.length(50)
  })

  it("tells a refusal permanently from one that may pass, and a partial one from both", async () => {
    expect((await failureOf(mailer.send({ ...message, to: "gone@example.com" }))).details).to.include({
      reason: "mail_refused",
      retryable: false,
    })
    const busy = await failureOf(mailer.send({ ...message, to: "busy@example.com" }))
    expect(busy).to.include({ code: "unavailable" })
    expect(busy.details).to.include({ reason: "mail_failed" })
    expect(busy.details).not.to.have.property("retryable")
    expect(await mailer.send({ ...message, to: "ada@example.com, gone@example.com" })).to.deep.include({ rejected: ["gone@example.com"] })
    expect(only().recipients).to.deep.equal(["ada@example.com"])
  })

  it("tells a message that the server did not confirm from one that it did not take", async () => {
    const faulty = await faultyMailServer()
    const own = createMailer(senders, smtpTransport(faulty.url), "F")
    const failed = async (fault: Fault) => {
      faulty.fail(fault)
      return (await failureOf(own.send(message))).details
    }
    for (const says of ["", "250-Ta", "Yes.\r\n"])
      expect(await failed({ at: "end", says, closes: true }), says).to.include({ reason: "mail_unconfirmed", retryable: false })
    const before = faulty.handed.length
    for (const at of ["recipient", "data"] as const) expect(await failed({ at, closes: true })).to.deep.equal({ reason: "mail_failed" })
    expect(faulty.handed).to.have.length(before)
    expect(await failed({ at: "end", says: "451 Later\r\n" })).to.deep.equal({ reason: "mail_failed" })
    await own.close()
    await faulty.close()
  })

  it("gives up when its caller stops, and is unavailable when nobody listens", async () => {
    const stop = AbortSignal.abort()
    expect((await failureOf(mailer.send({ ...message, signal: stop }))).code).to.equal("deadline_exceeded")
    const lonely = createMailer(senders, smtpTransport("smtp://127.0.0.1:1"), "F")
    expect((await failureOf(lonely.send(message))).code).to.equal("unavailable")
    await lonely.close()
    expect(server.received).to.have.length(0)
  })

  it("asks choosers for the sender before it takes the configured one", async () => {
    const chosen = createSenders({ from: { name: "", address: "default@example.com" } }, [
      async (organization) => (organization === "org-1" ? { from: { name: "Acme", address: "hi@acme.test" } } : undefined),
    ])
    const own = createMailer(chosen, smtpTransport(server.url), "F")
    await own.send(message)
    await own.send({ ...message, organization: "org-2" })
    await own.close()
    expect(server.received.map(({ mail }) => mail.from?.address)).to.deep.equal(["hi@acme.test", "default@example.com"])
    expect(server.received[0]?.mail.messageId).to.match(/@acme\.test>$/)
  })
})

describe("email: outbox", () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-outbox-"))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it("writes each message once as a whole file that says who gets it", async () => {
    const mailer = createMailer(senders, outboxTransport(join(folder, "outbox")), "Foot")
    const receipt = await mailer.send({ ...message, bcc: "hidden@example.com" })
    await mailer.send({ ...message, bcc: "hidden@example.com" })
    await mailer.send({ ...message, idempotencyKey: "other" })
    const files = (await readdir(join(folder, "outbox"))).sort()
    expect(files).to.have.length(2)
    for (const file of files) expect(file).to.match(/^20260102T030405006Z-[0-9a-f]{16}\.eml$/)
    const mails = await Promise.all(files.map(async (file) => PostalMime.parse(await readFile(join(folder, "outbox", file)))))
    const mail = mails.find(({ messageId }) => messageId === receipt.message_id)
    expect(mail).to.include({ subject: "New lead" })
    expect(mail?.bcc?.[0]?.address).to.equal("hidden@example.com")
    await mailer.close()
  })

  it("checks its settings", () => {
    expect(email.config.parse({})).to.include({ transport: "outbox" })
    expect(email.config.safeParse({ transport: "smtp" }).error?.issues[0]).to.deep.include({ path: ["url"] })
    expect(email.config.safeParse({ from: "a@b.test\r\nX: y" }).success).to.equal(false)
    expect(email.config.safeParse({ transport: "smtp", url: "http://mail" }).success).to.equal(false)
  })
})
