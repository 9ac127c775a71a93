// Two workers on one SMTP port: both accept mail, and each message is stored once.
import { expect } from "chai"
import { apiOf, freshFolder, startService } from "../../crash/service-process.ts"
import { freePort } from "../../free-port.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { listenForDns } from "../sending-domains/dns-server.ts"
import { message } from "./receiving.ts"
import { SmtpClient } from "./smtp-client.ts"

const onMongo = mongoAvailable ? describe : describe.skip

onMongo("mail on two workers (mongodb)", () => {
  it("is taken by both on one port, and kept once", async function () {
    this.timeout(900_000)
    const [folder, dns, port] = [freshFolder(), await listenForDns(), await freePort()]
    dns.set("spf.sender.com", "TXT", "v=spf1 ip4:127.0.0.1 -all")
    const hosts = { spf_host: "spf.sender.com", return_path_host: "bounce.sender.com", receiving_host: "inbound.sender.com" }
    const env = {
      MILLRACE_WORKERS: "2",
      MILLRACE_STORAGE_URL: await lendDatabaseToFile(),
      ...pluginSettings({
        "inbound-mail": { port, host: "127.0.0.1", hostname: "inbound.sender.com" },
        "sending-domains": { dns_servers: [dns.address], dns_timeout_ms: 30_000, ...hosts },
      }),
    }
    const service = await startService({ dataDir: folder.path, env })
    const clients: SmtpClient[] = []
    try {
      const api = apiOf(service, folder.path)
      const workers = async () => /^millrace_workers 2$/m.test(await (await fetch(`${service.url}/metrics`)).text())
      await until("both workers", workers)
      type Registered = { dns_records: { name: string; type: "CNAME" | "MX" | "TXT"; value: string }[] }
      const domain = await api<Registered>("POST", "/v1/sending-domains", { domain: "example.com", receiving: true })
      for (const { name, type, value } of domain.dns_records) dns.set(name, type, value)
      await api("POST", "/v1/sending-domains/example.com/verify")
      for (let n = 0; n < 8; n++) clients.push(await SmtpClient.open(port))
      const replies = await Promise.all(
        clients.map((client, n) =>
          client.send(
            `lead${n % 4}@elsewhere.test`,
            ["hello@example.com"],
            message({ From: `lead${n % 4}@elsewhere.test`, "Message-ID": `<${n % 4}@elsewhere.test>` }),
          ),
        ),
      )
      expect(replies.every((reply) => reply.startsWith("250 "))).to.equal(true)
      type Listed = { conversations: { message_count: number }[] }
      const stored = await until("all conversations", async () => {
        const body = await api<Listed>("GET", "/v1/email-conversations")
        return body.conversations.length === 4 && body.conversations
      })
      expect(stored.map(({ message_count }) => message_count)).to.deep.equal([1, 1, 1, 1])
    } finally {
      for (const client of clients) client.close()
      await service.kill()
      await dns.close()
      folder.remove()
    }
  })
})
