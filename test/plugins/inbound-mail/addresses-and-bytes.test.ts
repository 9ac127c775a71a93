// Recipients accepted by every server, the forward of long lines, and the bytes allowed from a client.
import { expect } from "chai"
import { Store } from "#core"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { message, onStores, type Receiving, startReceiving } from "./receiving.ts"

onStores("recipients and sizes of mail", "embedded", ({ start }) => {
  let service: Receiving
  let mailbox: MailServer
  before(async () => {
    mailbox = await listenForMail()
    service = await startReceiving({
      start,
      settings: { bytes_per_minute_per_address: 100_000, bytes_per_minute_per_organization: 150_000 },
      others: { email: { transport: "smtp", url: mailbox.url, from: "no-reply@service.test" } },
    })
    await service.activate("example.com", { forward_to_email: "ada@mailboxes.test" })
  })
  after(async () => {
    await mailbox.close()
    await service.dns.close()
  })

  const recipientsOf = async (from: string) => {
    const mails = await service.host
      .get(Store)
      .open(collectionNamed<{ envelope: { recipients: string[] } }>(service.host, "inbound_mails"), service.host.organization.id)
      .find({ "envelope.from": from })
    return mails.flatMap(({ envelope }) => envelope.recipients)
  }

  it("accepts the postmaster of the service, without a domain too", async () => {
    for (const [to, recipient] of [
      ["postmaster", "postmaster@example.com"],
      ["PostMaster@inbound.sender.com", "PostMaster@inbound.sender.com"],
    ] as const) {
      const from = `${to.length}@x.test`
      expect(await service.send(from, to, message({ From: from })), to).to.match(/^250 /)
      expect(await recipientsOf(from)).to.deep.equal([recipient])
    }
    expect(await service.send("a@x.test", "hostmaster", message({}))).to.match(/^501 /)
    expect(await service.send("a@x.test", "postmaster@other.test", message({}))).to.match(/^550 5\.7\.1 /)
  })

  it("accepts quoted local parts, and takes quotes without need away", async () => {
    for (const [n, [to, recipient]] of [
      ['"john doe"@example.com', '"john doe"@example.com'],
      ['"a@b"@example.com', '"a@b"@example.com'],
      ['"ada"@example.com', "ada@example.com"],
      ['"a\\"b"@example.com', '"a\\"b"@example.com'],
    ].entries()) {
      expect(await service.send(`q${n}@x.test`, to ?? "", message({ "Message-ID": `<q${n}@x.test>` })), to).to.match(/^250 /)
      expect(await recipientsOf(`q${n}@x.test`)).to.deep.equal([recipient])
    }
    expect(await service.send("a@x.test", '"a\x01b"@example.com', message({}))).to.match(/^501 /)
    expect(await service.send('"z z"@x.test', "hello@example.com", message({ "Message-ID": "<qz@x.test>" }))).to.match(/^250 /)
  })

  it("forwards a message with long lines in short ones", async () => {
    const id = `<${"x".repeat(2_000)}@x.test>`
    const count = mailbox.received.length
    const long = [
      message({ From: "long@x.test", "Message-ID": id }),
      message({ From: "long@x.test", "Message-ID": `<${"y".repeat(800)}@x.test>` }),
      message({ From: "long@x.test", "Message-ID": "<body@x.test>" }, `${"z".repeat(3_000)}\r\n`),
    ]
    for (const raw of long) expect(await service.send("long@x.test", "hello@example.com", raw)).to.match(/^250 /)
    const forwarded = await until("the forwards", () => {
      const mails = mailbox.received.slice(count).filter(({ raw }) => raw.includes("long@x.test"))
      return mails.length === long.length ? mails : undefined
    })
    for (const { raw } of forwarded) expect(Math.max(...raw.split("\r\n").map((line) => line.length))).to.be.at.most(998)
    expect(forwarded.some(({ raw }) => /^References:\s+<y{800}@x\.test>/m.test(raw))).to.equal(true)
  })

  it("puts a client off whose messages have used up its bytes, and an organization's", async () => {
    const big = (n: number) => message({ From: "big@x.test", "Message-ID": `<big${n}@x.test>` }, `${"line of text\r\n".repeat(7_000)}`)
    service.host.clock.move(60_000)
    expect(await service.send("big@x.test", "hello@example.com", big(1))).to.match(/^250 /)
    expect(await service.send("big@x.test", "hello@example.com", big(2))).to.match(/^250 /)
    expect(await service.send("big@x.test", "hello@example.com", big(3))).to.match(/^450 4\.7\.1 /)
    expect(await recipientsOf("big@x.test")).to.have.length(2)
    service.host.clock.move(120_000)
    expect(await service.send("big@x.test", "hello@example.com", big(3))).to.match(/^250 /)
  })
})
