// Mail through a load balancer: its header names the client address, and no other sender may set the header.
import { expect } from "chai"
import { Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { message, type Receiving, startReceiving } from "./receiving.ts"
import { SmtpClient } from "./smtp-client.ts"

describe("mail by a load balancer", () => {
  const hosts: TestHost[] = []
  const start = async (options: Parameters<typeof testHost>[0]) => {
    const host = await testHost({ capture: false, ...options })
    hosts.push(host)
    return host
  }
  let behind: Receiving
  let direct: Receiving
  before(async () => {
    behind = await startReceiving({ start, settings: { proxies: ["127.0.0.1"], max_connections_per_address: 1 } })
    direct = await startReceiving({ start, settings: { proxies: ["192.0.2.99"] } })
  })
  after(async () => {
    for (const host of hosts) await host.stop()
    await behind.dns.close()
    await direct.dns.close()
  })

  const by = async ({ port }: Receiving, line: string) => {
    const client = await SmtpClient.connect(port)
    client.write(line)
    return { client, greeting: await client.reply() }
  }

  it("is from whom the balancer names, whose limits are its own", async () => {
    await behind.activate("example.com")
    const { client, greeting } = await by(behind, "PROXY TCP4 198.51.100.7 127.0.0.1 5000 25\r\n")
    expect(greeting).to.match(/^220 /)
    const same = await by(behind, "PROXY TCP4 198.51.100.7 127.0.0.1 5001 25\r\n")
    expect(same.greeting).to.match(/^421 .*198\.51\.100\.7/)
    const other = await by(behind, "PROXY TCP6 2001:db8::7 ::1 5002 25\r\n")
    expect(other.greeting).to.match(/^220 /)
    await client.say("EHLO client.test")
    expect(await client.send("lead@elsewhere.test", ["hello@example.com"], message({}))).to.match(/^250 /)
    const [mail] = await until("the mail", async () => {
      const stored = await behind.host
        .get(Store)
        .open(collectionNamed<{ envelope: { remote_address: string } }>(behind.host, "inbound_mails"), behind.host.organization.id)
        .find({})
      return stored.length > 0 && stored
    })
    expect(mail?.envelope.remote_address).to.equal("198.51.100.7")
    for (const smtp of [client, same.client, other.client]) smtp.close()
  })

  it("is not taken where the balancer names nobody", async () => {
    const { client, greeting } = await by(behind, "EHLO client.test\r\n")
    expect(greeting).not.to.match(/^220 /)
    client.close()
  })

  it("is from its own address where another one says so", async () => {
    const { client, greeting } = await by(direct, "")
    expect(greeting).to.match(/^220 /)
    expect(await client.say("PROXY TCP4 198.51.100.7 127.0.0.1 5000 25")).to.match(/^5\d\d /)
    client.close()
  })
})
