// Measurements of sign-in codes: equal time for known and unknown addresses, and exact limits on two nodes.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { lendDatabaseToFile } from "../../mongodb-server.ts"
import { onMongo } from "../../pipeline/stores.ts"
import { addUser, Browser } from "./people.ts"

const pairs = 320
const roomy = { identity: { codes_per_email_hour: 1_000, codes_per_address_hour: 100_000 } }

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

describe("the processor time of a request for a sign-in code", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(roomy) } })
    await addUser(host, "known@example.com")
  })
  after(() => host.stop())

  it("is the same for a known and an unknown address, within 5 %", async () => {
    const emails = ["known@example.com", "other@example.com"] as const
    const measure = async (email: string) => {
      const browser = new Browser(host.url)
      const before = process.cpuUsage()
      expect((await browser.requestCode(email)).status).to.equal(202)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const ratios: number[] = []
    for (let n = 0; n < pairs; n++) {
      const acceptedCounts = new Map<string, number>()
      for (const email of n % 2 ? emails : emails.toReversed()) acceptedCounts.set(email, await measure(email))
      ratios.push((acceptedCounts.get(emails[0]) ?? 0) / (acceptedCounts.get(emails[1]) ?? 0))
    }
    // The first requests are warm-up.
    const ratio = median(ratios.slice(20))
    console.log(`    known to unknown, seconds of the processor: ${ratio.toFixed(3)}`)
    expect(Math.abs(1 - ratio)).to.be.below(0.05)
  })
})

onMongo("sign-in codes of two nodes", () => {
  const nodes: TestHost[] = []
  before(async () => {
    const env = { MILLRACE_STORAGE_URL: await lendDatabaseToFile() }
    const first = await testHost({ env })
    nodes.push(first, await testHost({ env, dataDir: first.dataDir }))
  })
  after(async () => {
    for (const node of nodes.reverse()) await node.stop()
  })
  const of = (n: number) => nodes[n % 2] as TestHost

  it("count requests exactly", async () => {
    await addUser(of(0), "ada@example.com")
    const requests = Array.from({ length: 12 }, (_, n) => new Browser(of(n).url).requestCode("ada@example.com"))
    const statuses = (await Promise.all(requests)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 202)).to.have.length(5)
    expect(statuses.filter((status) => status === 429)).to.have.length(7)
  })

  it("count wrong tries exactly", async () => {
    await addUser(of(0), "eve@example.com")
    const browser = new Browser(of(0).url)
    await browser.requestCode("eve@example.com")
    const tried = Array.from({ length: 12 }, (_, n) => {
      const copy = new Browser(of(n).url)
      for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
      return copy.enter({ email_code: "000000" })
    })
    const answers = await Promise.all(tried)
    expect(answers.filter((answer) => answer[1] === "sign_in_code_wrong")).to.have.length(4)
    expect(answers.filter((answer) => answer[1] === "sign_in_code_ended")).to.have.length(8)
  })
})
