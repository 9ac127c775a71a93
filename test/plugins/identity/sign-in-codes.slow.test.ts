// Sign-in codes under measurement: the same time for known and unknown addresses, and exact limits on two nodes.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { lendDatabaseToFile } from "../../mongodb-server.ts"
import { onMongo } from "../../pipeline/stores.ts"
import { addUser, Browser } from "./people.ts"

const tries = 220
const roomy = { identity: { codes_per_email_hour: 1_000, codes_per_address_hour: 100_000 } }

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

describe("the time of a request for a sign-in code", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(roomy) } })
    await addUser(host, "known@example.com")
  })
  after(() => host.stop())

  it("is the same for a known and an unknown address, within 5 %", async () => {
    const emails = ["known@example.com", "other@example.com"]
    const times = new Map(emails.map((email) => [email, { wall: [] as number[], cpu: [] as number[] }]))
    const measure = async (email: string) => {
      const browser = new Browser(host.url)
      const [began, cpu] = [performance.now(), process.cpuUsage()]
      expect((await browser.requestCode(email)).status).to.equal(202)
      const { user, system } = process.cpuUsage(cpu)
      times.get(email)?.wall.push(performance.now() - began)
      times.get(email)?.cpu.push(user + system)
    }
    for (let n = 0; n < tries; n++) for (const email of n % 2 ? emails : emails.toReversed()) await measure(email)
    // The first requests warm the service up.
    const medianOf = (email: string, what: "wall" | "cpu") => median(times.get(email)?.[what].slice(20) ?? [])
    const ratioOf = (what: "wall" | "cpu") => medianOf("known@example.com", what) / medianOf("other@example.com", what)
    const ratios = { wall: ratioOf("wall"), cpu: ratioOf("cpu") }
    console.log(`    known to unknown: wall ${ratios.wall.toFixed(3)}, processor ${ratios.cpu.toFixed(3)}`)
    // Another process on the machine disturbs one of both at times.
    expect(Math.min(Math.abs(1 - ratios.wall), Math.abs(1 - ratios.cpu))).to.be.below(0.05)
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
