// Forbidden addresses in every notation. No connection to them is opened.
import { expect } from "chai"
import fc from "fast-check"
import { isAllowed, parseHostRule, refusedRange } from "../../../plugins/platform/outgoing-http/address-policy.ts"
import { createOutgoingHttp } from "../../../plugins/platform/outgoing-http/client.ts"
import type { Resolve } from "../../../plugins/platform/outgoing-http/guarded-connect.ts"
import { failureOf } from "../../refusal.ts"
import { listen, outgoing, type Peer } from "./loopback-peer.ts"

const refused = [
  "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "0", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255",
  "192.168.1.1", "169.254.169.254", "2852039166", "0xa9fea9fe", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "198.18.0.1", "224.0.0.1",
  "240.0.0.1", "255.255.255.255", "192.0.2.1", "１２７.0.0.1", "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]",
  "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2001::1]",
  "[2001:db8::1]", "[100::1]", "[4000::1]",
] // biome-ignore format: a table reads better dense

describe("outgoing http: addresses", () => {
  let peer: Peer
  before(async () => {
    peer = await listen((_asked, response) => response.end("inside"))
  })
  after(() => peer.close())

  for (const host of refused) {
    it(`refuses ${host}`, async () => {
      const client = createOutgoingHttp(outgoing())
      try {
        const error = await failureOf(client.fetch({ url: `http://${host}:${peer.port}/secret-path?token=abc` }))
        expect(error.code).to.equal("failed_precondition")
        expect(error.details).to.include({ reason: "address_refused", retryable: false })
        expect(error.message).not.to.match(/secret-path|abc/)
        expect(() => client.check(`http://${host}/`)).to.throw(/public addresses only/)
      } finally {
        await client.close()
      }
      expect(peer.asked).to.have.length(0)
    })
  }

  it("refuses names that resolve inside, also when only one of their addresses is", async () => {
    const answers: Record<string, string[]> = {
      "inside.test": ["127.0.0.1"],
      "mixed.test": ["93.184.215.14", "10.0.0.1"],
      "mapped.test": ["::ffff:127.0.0.1"],
      "metadata.test": ["169.254.169.254"],
    }
    const client = createOutgoingHttp(
      outgoing(),
      resolver((name) => answers[name] ?? []),
    )
    for (const name of Object.keys(answers)) {
      const error = await failureOf(client.fetch({ url: `http://${name}:${peer.port}/` }))
      expect(error.details, name).to.include({ reason: "address_refused", host: name })
    }
    await client.close()
    expect(peer.asked).to.have.length(0)
  })

  it("checks the very answer it connects to, so a name that changes its mind gains nothing", async () => {
    // Global unicast by its range, but unassigned.
    let requestCount = 0
    const client = createOutgoingHttp(
      outgoing(),
      resolver(() => (requestCount++ === 0 ? ["2000::1"] : ["127.0.0.1"])),
    )
    client.check(`http://rebind.test:${peer.port}/`)
    const first = await failureOf(client.fetch({ url: `http://rebind.test:${peer.port}/`, timeoutMs: 100 }))
    expect(first.details?.["reason"]).not.to.equal("address_refused")
    expect(requestCount).to.equal(1)
    const second = await failureOf(client.fetch({ url: `http://rebind.test:${peer.port}/` }))
    expect(second.details).to.include({ reason: "address_refused" })
    expect(JSON.stringify([second.message, second.details]), "what a private name resolves to").to.not.include("127.0.0.1")
    expect(requestCount).to.equal(2)
    await client.close()
    expect(peer.asked).to.have.length(0)
  })

  it("reaches what the operator names, and only on the port named", async () => {
    const client = createOutgoingHttp(
      outgoing(`127.0.0.1:${peer.port}`, "crm.internal"),
      resolver(() => ["127.0.0.1"]),
    )
    expect((await client.fetch({ url: `${peer.origin}/a` })).text).to.equal("inside")
    expect((await client.fetch({ url: `http://CRM.internal.:${peer.port}/b` })).status).to.equal(200)
    const other = await failureOf(client.fetch({ url: `http://127.0.0.1:${peer.port - 1}/` }))
    expect(other.details).to.include({ reason: "address_refused" })
    await client.close()
    expect(peer.asked.splice(0).map((request) => request.url)).to.deep.equal(["/a", "/b"])
  })

  it("lets no address of a private block through in any of its IPv6 wrappings", () => {
    const octet = fc.integer({ min: 0, max: 255 })
    fc.assert(
      fc.property(fc.constantFrom(10, 127), octet, octet, octet, (a, b, c, d) => {
        const hex = [a * 256 + b, c * 256 + d].map((part) => part.toString(16)).join(":")
        for (const address of [
          `${a}.${b}.${c}.${d}`,
          `::ffff:${hex}`,
          `::${hex}`,
          `64:ff9b::${hex}`,
          `64:ff9b:1::${hex}`,
          `2002:${hex}::`,
        ]) {
          expect(refusedRange(address), address).to.be.a("string")
        }
      }),
    )
    for (const address of ["1.1.1.1", "93.184.215.14", "2606:4700:4700::1111"]) expect(refusedRange(address), address).to.equal(undefined)
  })

  it("reads allow_hosts entries and names a bad one", () => {
    expect(isAllowed([parseHostRule("[::1]:80")], "0:0:0:0:0:0:0:1", "80")).to.equal(true)
    expect(isAllowed([parseHostRule("::1")], "[::1]", "8080")).to.equal(true)
    expect(isAllowed([parseHostRule("crm.internal")], "evil-crm.internal", "80")).to.equal(false)
    for (const entry of ["http://a.test", "a.test/path", "", "a b", "user@a.test"])
      expect(() => parseHostRule(entry), entry).to.throw(/allow_hosts/)
  })
})

function resolver(answer: (name: string) => string[]): Resolve {
  return (name, _options, callback) => {
    callback(
      null,
      answer(name.replace(/\.$/, "").toLowerCase()).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    )
  }
}
