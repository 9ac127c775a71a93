// One message in several deliveries: to other recipients, from other clients, and after a forgery.
import { expect } from "chai"
import { Store } from "#core"
import { MailErasure } from "../../../plugins/people/inbound-mail/index.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { message, onStores, type Receiving, startReceiving } from "./receiving.ts"
import { SmtpClient } from "./smtp-client.ts"

interface Listed {
  readonly conversations: { readonly id: string; readonly message_count: number }[]
}
interface Read {
  readonly messages: { readonly text: string; readonly inbound: { authentication: { dmarc: string }; quarantined: boolean } }[]
}
interface Rows {
  readonly rows: { readonly values: { mid: string; recipients: string[]; text: string; dmarc: string } }[]
}

onStores("deliveries of one message", "embedded", ({ start }) => {
  let service: Receiving
  before(async () => {
    service = await startReceiving({ start })
    await service.activate("example.com")
    await service.activate("second.com")
    const response = await service.host.api("POST", "/v1/event-pipelines", {
      name: "Keep",
      state: "active",
      source_kind: "inbound_email",
      pipeline: [
        {
          type: "dataset.write",
          dataset_slug: "kept",
          row: {
            mid: "{{ event.message_id }}",
            recipients: "{{ event.recipients }}",
            text: "{{ event.text | strip }}",
            dmarc: "{{ event.authentication.dmarc }}",
          },
        },
      ],
    })
    expect(response.status).to.equal(200)
  })
  after(() => service.dns.close())

  const stored = (domain?: string) =>
    service.host
      .get(Store)
      .open(
        collectionNamed<{ envelope: { from: string }; handled_by: string | null; event_recipients?: string[] }>(
          service.host,
          "inbound_mails",
        ),
        service.host.organization.id,
      )
      .find(domain === undefined ? {} : { domain }, { limit: 100 })
  const handled = () =>
    until("each mail being handled", async () => {
      const mails = await stored()
      return mails.every(({ handled_by }) => handled_by !== null) ? mails : undefined
    })
  /** Returns the recipients of each event of a message, once it has `count` events. */
  const events = async (id: string, count: number) => {
    await handled()
    const matches = await until(`${count} events of ${id}`, async () => {
      const { body } = await service.host.api<Rows>("GET", "/v1/datasets/kept/rows?limit=200")
      const rows = (body.rows ?? []).map(({ values }) => values).filter(({ mid }) => mid === id)
      return rows.length >= count ? rows : undefined
    })
    return matches.map(({ recipients }) => recipients.join(" ")).sort()
  }
  const conversation = async (address: string) => {
    const { body } = await service.host.api<Listed>("GET", `/v1/email-conversations?address=${address}`)
    expect(body.conversations).to.have.length(1)
    return (await service.host.api<Read>("GET", `/v1/email-conversations/${body.conversations[0]?.id}`)).body.messages
  }
  const sendFrom = async (ip: string, from: string, to: string, text: string) => {
    const client = await SmtpClient.open(service.port, ip)
    try {
      return await client.send(from, [to], text)
    } finally {
      client.close()
    }
  }

  it("reach each recipient once, and the conversation once", async () => {
    const raw = message({ From: "two@x.test", "Message-ID": "<two@x.test>", To: "sales@example.com, support@example.com" })
    for (const to of ["sales", "support", "sales", "Support"])
      expect(await service.send("two@x.test", `${to}@example.com`, raw)).to.match(/^250 /)
    expect(await events("<two@x.test>", 2)).to.deep.equal(["sales@example.com", "support@example.com"])
    expect(await conversation("two@x.test")).to.have.length(1)
  })

  it("reach the recipients that an earlier delivery left out", async () => {
    const raw = message({ From: "part@x.test", "Message-ID": "<part@x.test>" })
    await service.send("part@x.test", ["a@example.com", "b@example.com"], raw)
    await service.send("part@x.test", ["b@example.com", "c@example.com"], raw)
    await service.send("part@x.test", ["a@example.com", "b@example.com", "c@example.com"], raw)
    expect(await events("<part@x.test>", 2)).to.deep.equal(["a@example.com b@example.com", "c@example.com"])
  })

  it("reach each recipient if they arrive at one moment, without a Message-ID, for two domains", async () => {
    const raw = message({ From: "many@x.test", To: "undisclosed-recipients:;" }, "Bcc to many.\r\n")
    const recipients = ["a@example.com", "b@example.com", "c@second.com", "d@second.com"]
    const replies = await Promise.all(recipients.map((to) => service.send("many@x.test", to, raw)))
    expect(replies.every((reply) => reply.startsWith("250"))).to.equal(true)
    await handled()
    const retained = (await stored()).filter(({ envelope }) => envelope.from === "many@x.test")
    expect(retained.flatMap(({ event_recipients = [] }) => event_recipients).sort()).to.deep.equal(recipients)
    expect(await conversation("many@x.test"), "one a domain").to.have.length(2)
  })

  it("from another client are one message, unless the first one was not authenticated", async () => {
    service.dns.set("real.test", "TXT", "v=spf1 ip4:127.0.0.2 ip4:127.0.0.3 -all")
    service.dns.set("_dmarc.real.test", "TXT", "v=DMARC1; p=none")
    const raw = message({ From: "Ann <ann@real.test>", "Message-ID": "<copy@real.test>" }, "The offer.\r\n")
    for (const ip of ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"])
      expect(await sendFrom(ip, "ann@real.test", "hello@example.com", raw), ip).to.match(/^250 /)
    await events("<copy@real.test>", 2)
    const authentications = (await conversation("ann@real.test")).map(({ inbound }) => inbound.authentication.dmarc)
    expect(authentications.sort()).to.deep.equal(["fail", "pass"])
    const refusedRecipients = (await handled())
      .filter(({ envelope }) => envelope.from === "ann@real.test")
      .map(({ handled_by }) => handled_by)
    expect(refusedRecipients.sort()).to.deep.equal(["conversations", "conversations", "duplicate", "duplicate"])
  })

  it("do not hide a message behind a forgery of its Message-ID and author", async () => {
    service.dns.set("author.test", "TXT", "v=spf1 ip4:127.0.0.2 -all")
    service.dns.set("_dmarc.author.test", "TXT", "v=DMARC1; p=reject")
    const forged = { From: "bob@author.test", "Message-ID": "<known@author.test>" }
    await sendFrom("127.0.0.1", "bob@author.test", "hello@example.com", message(forged, "Pay to another account.\r\n"))
    await sendFrom("127.0.0.2", "bob@author.test", "hello@example.com", message(forged, "Thanks.\r\n"))
    expect(await events("<known@author.test>", 1)).to.deep.equal(["hello@example.com"])
    const messages = await conversation("bob@author.test")
    expect(messages.map(({ text, inbound }) => [text.trim(), inbound.quarantined])).to.have.deep.members([
      ["Pay to another account.", true],
      ["Thanks.", false],
    ])
  })

  it("are all erased with the author", async () => {
    const before = (await stored()).filter(({ envelope }) => envelope.from === "two@x.test")
    expect(before).to.have.length(2)
    await service.host.get(MailErasure)(service.host.organization.id, "two@x.test", new AbortController().signal)
    expect((await stored()).filter(({ envelope }) => envelope.from === "two@x.test")).to.deep.equal([])
  })
})
