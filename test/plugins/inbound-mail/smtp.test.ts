// The SMTP server for clients: accepted and refused mail. A 250 means that the message is on disk.
import { expect } from "chai"
import { z } from "zod"
import { definePlugin, Store } from "#core"
import { headersOf, MailHandlers, type ReceivedMail } from "../../../plugins/people/inbound-mail/index.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { message, onStores, type Receiving, startReceiving } from "./receiving.ts"
import { SmtpClient } from "./smtp-client.ts"

const lead = "lead@elsewhere.test"

onStores("the mail server", "embedded", ({ start }) => {
  let service: Receiving
  const handled: ReceivedMail[] = []
  let failures = 0
  const bounces = definePlugin({
    id: "test-bounces",
    needs: ["inbound-mail"],
    config: z.strictObject({}),
    extend: [
      [
        MailHandlers,
        {
          name: "bounces",
          accepts: ({ localPart }) => localPart.startsWith("bounces+"),
          claims: ({ route }) => route.kind === "bounce",
          async handle(mail) {
            if (failures-- > 0) throw new Error("not now")
            handled.push(mail)
          },
        },
      ],
    ],
    register: () => undefined,
  })
  before(async () => {
    service = await startReceiving({
      start,
      plugins: [bounces],
      settings: { max_message_bytes: 200_000, max_recipients: 3, max_connections_per_address: 4 },
    })
    await service.activate("example.com")
    await service.activate("quiet.com", { receiving: false })
  })
  after(() => service.dns.close())

  const storedMails = () =>
    service.host
      .get(Store)
      .open(
        collectionNamed<{ envelope: { from: string; recipients: string[] }; handled_by: string | null }>(service.host, "inbound_mails"),
        service.host.organization.id,
      )
      .find({}, { limit: 100 })
  const whenHandled = async (count: number) =>
    until(`${count} handled mails`, async () => {
      const mails = await storedMails()
      return mails.length === count && mails.every(({ handled_by }) => handled_by !== null) ? mails : undefined
    })

  it("takes mail for domains that receive, and for none other", async () => {
    expect(await service.send(lead, "hello@example.com", message({ "Message-ID": "<1@elsewhere.test>" }))).to.match(/^250 /)
    expect((await whenHandled(1))[0]).to.include({ domain: "example.com", kind: "mail" })
    for (const to of ["a@other.com", "hello@quiet.com", "a@sub.example.com", "a%other.com@bounce.other.com"])
      expect(await service.send(lead, to, message({})), to).to.match(/^550 5\.7\.1 /)
    expect(await service.send("", "nobody@bounce.example.com", message({}))).to.match(/^550 5\.1\.1 /)
    await service.host.api("POST", "/v1/sending-domains/example.com/disable")
    expect(await service.send(lead, "hello@example.com", message({}))).to.match(/^550 5\.7\.1 /)
    await service.host.api("POST", "/v1/sending-domains/example.com/enable")
    expect(await service.send(lead, "hello@example.com", message({})), "pending").to.match(/^550 5\.7\.1 /)
    await service.host.api("POST", "/v1/sending-domains/example.com/verify")
    await service.host.api("PATCH", "/v1/sending-domains/example.com", { receiving_enabled: false })
    expect(await service.send(lead, "hello@example.com", message({})), "switched off").to.match(/^550 5\.7\.1 /)
    await service.host.api("PATCH", "/v1/sending-domains/example.com", { receiving_enabled: true })
    expect(await storedMails()).to.have.length(1)
  })

  it("keeps one message for a message that is sent again, by any way", async () => {
    const again = `Received: from other by way\r\n${message({ "Message-ID": "<1@elsewhere.test>" })}`
    expect(await service.send(lead, ["hello@example.com", "HELLO@example.com"], again)).to.match(/^250 /)
    const both = await Promise.all(
      [1, 2].map(() => service.send(lead, "hello@example.com", message({ "Message-ID": "<2@elsewhere.test>" }))),
    )
    expect(both.every((reply) => reply.startsWith("250"))).to.equal(true)
    await whenHandled(2)
  })

  it("gives a bounce to the handler that claims it, until it is handled", async () => {
    failures = 1
    const report = [
      'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
      "From: MAILER-DAEMON@elsewhere.test",
      "Subject: =?utf-8?q?Not_delivered?=",
      "Message-ID: <dsn@elsewhere.test>",
      "",
      "--b",
      "Content-Type: text/plain",
      "",
      "It failed.",
      "--b",
      "Content-Type: message/delivery-status",
      "",
      "Reporting-MTA: dns; elsewhere.test",
      "",
      "Final-Recipient: rfc822; lead@elsewhere.test",
      "Status: 5.1.1",
      "",
      "--b",
      "Content-Type: message/rfc822",
      "",
      "Message-ID: <ours@example.com>",
      "",
      "What we wrote",
      "--b--",
      "",
    ].join("\r\n")
    expect(await service.send("", "bounces+token@bounce.example.com", report)).to.match(/^250 /)
    const mails = await until("the bounce", async () => {
      service.host.clock.move(1_000)
      return handled.length > 0 ? handled : undefined
    })
    const [{ content, envelope, route, raw }] = mails as [ReceivedMail]
    expect(route).to.deep.equal({ organization: service.host.organization.id, domain: "example.com", kind: "bounce" })
    expect(envelope).to.deep.include({ from: "", recipients: ["bounces+token@bounce.example.com"], helo: "client.test", tls: false })
    expect(content).to.include({ problem: "", subject: "Not delivered", message_id: "<dsn@elsewhere.test>" })
    expect(content.report?.type).to.equal("delivery-status")
    expect(content.report?.parts.map(({ media_type }) => media_type)).to.deep.equal(["message/delivery-status", "message/rfc822"])
    expect(content.report?.parts[0]?.text).to.contain("Status: 5.1.1")
    expect(content.report?.parts[1]?.text).to.contain("Message-ID: <ours@example.com>")
    expect(headersOf(content, "received")[0]).to.contain("by inbound.sender.com with ESMTP")
    expect(Buffer.from(await raw()).toString()).to.match(/^Return-Path: <>\r\nReceived: from client\.test/)
    expect(await whenHandled(3).then((all) => all.filter(({ handled_by }) => handled_by === "bounces"))).to.have.length(1)
  })

  it("refuses what is too large, too long in the headers, or in a loop, and keeps nothing of it", async () => {
    expect(await service.send(lead, "hello@example.com", message({}, "x".repeat(200_000)))).to.match(/^552 5\.3\.4 /)
    const client = await SmtpClient.open(service.port)
    expect(await client.say(`MAIL FROM:<${lead}> SIZE=300000`)).to.match(/^552 /)
    client.close()
    const hops = "Received: from a by b\r\n".repeat(51)
    expect(await service.send(lead, "hello@example.com", hops + message({}))).to.match(/^554 5\.4\.6 /)
    expect(await storedMails()).to.have.length(3)
  })

  it("refuses lines that end in a bare CR or LF, in which another message could hide", async () => {
    for (const end of ["\n.\n", "\n.\r\n", "\r.\r\n", "\r\n.\r", "\r\n\0.\r\n", "\n\r.\r\n"]) {
      const client = await SmtpClient.open(service.port)
      await client.say(`MAIL FROM:<${lead}>`)
      await client.say("RCPT TO:<hello@example.com>")
      await client.say("DATA")
      client.write(
        `${message({})}${end}MAIL FROM:<ceo@example.com>\r\nRCPT TO:<hello@example.com>\r\nDATA\r\nSubject: hidden\r\n\r\nHi\r\n.\r\n`,
      )
      const first = await client.reply()
      expect([end, first.slice(0, 3)], first).to.deep.equal([end, end === "\r\n\0.\r\n" ? "250" : "550"])
      expect(await client.say("QUIT"), "one reply for one message").to.match(/^221 /)
    }
    const hidden = (await whenHandled(4)).filter(({ envelope }) => envelope.from !== lead && envelope.from !== "")
    expect(hidden).to.deep.equal([])
  })

  it("serves commands that are sent in one go, and refuses too many recipients and connections", async () => {
    const client = await SmtpClient.open(service.port)
    client.write(`MAIL FROM:<${lead}>\r\n${[1, 2, 3, 4].map((n) => `RCPT TO:<a${n}@example.com>\r\n`).join("")}DATA\r\n`)
    const replies = []
    for (let n = 0; n < 6; n++) replies.push((await client.reply()).slice(0, 3))
    expect(replies).to.deep.equal(["250", "250", "250", "250", "452", "354"])
    client.write(`${message({ "Message-ID": "<many@elsewhere.test>" })}\r\n.\r\nQUIT\r\n`)
    expect([await client.reply(), await client.reply()].map((text) => text.slice(0, 3))).to.deep.equal(["250", "221"])
    const many = (await whenHandled(5)).filter(({ envelope }) => envelope.recipients.length === 3)
    expect(many).to.have.length(1)
    const clients = await Promise.all([1, 2, 3, 4].map(() => SmtpClient.open(service.port)))
    const fifth = await SmtpClient.connect(service.port)
    expect(await fifth.reply()).to.match(/^421 4\.7\.0 /)
    for (const smtp of clients) smtp.close()
  })

  it("ends a connection that lasts too long, however busy it is, and keeps nothing of a message cut off", async () => {
    const slow = await SmtpClient.open(service.port)
    await slow.say(`MAIL FROM:<${lead}>`)
    await slow.say("RCPT TO:<hello@example.com>")
    await slow.say("DATA")
    slow.write(message({ "Message-ID": "<slow@elsewhere.test>" }))
    service.host.clock.move(600_000)
    expect(await slow.reply()).to.match(/^421 4\.4\.2 /)
    expect(await slow.reply()).to.equal("closed")
    expect(await storedMails()).to.have.length(5)
  })
})
