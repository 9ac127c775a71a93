// Services killed while mail arrives: a message answered 250 is stored once and forwarded as one message.
import { expect } from "chai"
import { InboundMailServer } from "../../../plugins/people/inbound-mail/index.ts"
import { type Api, apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { onMongo } from "../../pipeline/stores.ts"
import { isSoak } from "../../tier.ts"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { type DnsServer, listenForDns } from "../sending-domains/dns-server.ts"
import { message, startReceiving } from "./receiving.ts"
import { SmtpClient } from "./smtp-client.ts"

interface Registered {
  readonly dns_records: { name: string; type: "CNAME" | "MX" | "TXT"; value: string }[]
}
interface Listed {
  readonly conversations: { readonly id: string; readonly message_count: number }[]
}
interface Read {
  readonly messages: { readonly message_id: string; readonly inbound: { forward: { state: string } | null } }[]
}

const rounds = isSoak ? 6 : 3
const atOnce = 8

describe("mail to services that are killed", () => {
  const folder = freshFolder()
  let dns: DnsServer
  let mailbox: MailServer
  let service: ServiceProcess
  let api: Api
  const begin = async () => {
    const settings = {
      email: { transport: "smtp", url: mailbox.url },
      "inbound-mail": { port: 0, host: "127.0.0.1" },
      "sending-domains": {
        dns_servers: [dns.address],
        dns_timeout_ms: 30_000,
        spf_host: "spf.sender.com",
        return_path_host: "b.sender.com",
      },
    }
    const env = { MILLRACE_LOG_LEVEL: "info", MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) }
    service = await startService({ dataDir: folder.path, env })
    api = apiOf(service, folder.path)
  }
  before(async () => {
    dns = await listenForDns()
    mailbox = await listenForMail()
    await begin()
  })
  after(async () => {
    await service.kill()
    await mailbox.close()
    await dns.close()
    folder.remove()
  })
  const port = () => Number(/"port":(\d+)[^\n]*"mail is received"/.exec(service.output())?.[1])

  it("is kept once where it was answered 250, and none is lost between the answer and what follows", async () => {
    dns.set("spf.sender.com", "TXT", "v=spf1 -all")
    const { dns_records } = await api<Registered>("POST", "/v1/sending-domains", {
      domain: "example.com",
      receiving: true,
      forward_to_email: "ada@mailboxes.test",
    })
    for (const { name, type, value } of dns_records) dns.set(name, type, value)
    await api("POST", "/v1/sending-domains/example.com/verify")
    const sentIds = new Set<string>()
    const acknowledged = new Set<string>()
    for (let round = 0; round < rounds; round++) {
      const ids = Array.from({ length: atOnce }, (_, n) => `<${round}-${n}@elsewhere.test>`)
      let answers = 0
      let kill: Promise<void> | undefined
      await Promise.all(
        ids.map(async (id) => {
          const client = await SmtpClient.open(port())
          sentIds.add(id)
          const reply = await client.send("lead@elsewhere.test", ["hello@example.com"], message({ "Message-ID": id }))
          if (reply.startsWith("250")) acknowledged.add(id)
          // At a different answer in each round, without delay.
          if (++answers === 1 + (round % atOnce)) kill = service.kill()
          client.close()
        }),
      )
      await kill
      await begin()
      // A client without an answer sends the message again.
      for (const id of ids.filter((candidate) => !acknowledged.has(candidate)).slice(0, 2)) {
        const client = await SmtpClient.open(port())
        const reply = await client.send("lead@elsewhere.test", ["hello@example.com"], message({ "Message-ID": id }))
        expect(reply).to.match(/^250 /)
        acknowledged.add(id)
        client.close()
      }
    }
    expect(acknowledged.size).to.be.at.least(2 * rounds)
    const messages = await until("all that was acknowledged, forwarded", async () => {
      const { conversations } = await api<Listed>("GET", "/v1/email-conversations?address=lead@elsewhere.test")
      const [conversation] = conversations
      const read = conversation && (await api<Read>("GET", `/v1/email-conversations/${conversation.id}?limit=200`)).messages
      const forwardedIds = new Set(read?.filter(({ inbound }) => inbound.forward?.state === "sent").map(({ message_id }) => message_id))
      return read?.length === forwardedIds.size &&
        conversation?.message_count === read.length &&
        [...acknowledged].every((id) => forwardedIds.has(id))
        ? read
        : undefined
    })
    const ids = messages.map(({ message_id }) => message_id)
    expect(new Set(ids).size, "each once").to.equal(ids.length)
    expect(ids.filter((id) => !sentIds.has(id))).to.deep.equal([])
    const forwards = new Map<string, Set<string>>()
    for (const { mail } of mailbox.received) {
      const of = mail.references ?? ""
      forwards.set(of, (forwards.get(of) ?? new Set()).add(mail.messageId ?? ""))
    }
    expect(
      [...forwards.values()].filter((attempts) => attempts.size !== 1),
      "one message however often it was tried",
    ).to.deep.equal([])
    expect([...forwards.keys()].sort()).to.deep.equal(ids.toSorted())
  })
})

onMongo("mail to two nodes", ({ start, storage }) => {
  it("is kept once where both are given it at the same time", async () => {
    const env = await storage()
    const receiver = await startReceiving({ start: (options) => start({ ...options, env: { ...options?.env, ...env } }) })
    await receiver.activate("example.com")
    const settings = { "inbound-mail": { port: 0, host: "127.0.0.1" }, "sending-domains": { dns_servers: [receiver.dns.address] } }
    const two = await start({ dataDir: receiver.host.dataDir, env: { ...env, ...pluginSettings(settings) } })
    const ports = [receiver.port, Number(two.get(InboundMailServer).port)]
    const send = async (port: number, id: string) => {
      const client = await SmtpClient.open(port)
      const reply = await client.send("lead@elsewhere.test", ["hello@example.com"], message({ "Message-ID": id }))
      client.close()
      return reply.slice(0, 3)
    }
    const ids = [1, 2, 3, 4, 5].map((n) => `<${n}@elsewhere.test>`)
    const replies = await Promise.all(ids.flatMap((id) => ports.map((port) => send(port, id))))
    expect(new Set(replies)).to.deep.equal(new Set(["250"]))
    const { id, message_count } = await until("all messages", async () => {
      receiver.host.clock.move(500)
      two.clock.move(500)
      const { body } = await patiently(() => receiver.host.api<Listed>("GET", "/v1/email-conversations"))
      const [conversation] = body.conversations ?? []
      return conversation && conversation.message_count >= ids.length ? conversation : undefined
    })
    const { body } = await patiently(() => two.api<Read>("GET", `/v1/email-conversations/${id}`))
    expect([message_count, body.messages.map(({ message_id }) => message_id).toSorted()]).to.deep.equal([ids.length, ids])
    await receiver.dns.close()
  })
})
