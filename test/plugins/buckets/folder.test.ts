// Behaviour specific to the folder: the stored files, and links answered by the service itself.
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import type { AppError } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { type Bucket, Buckets } from "../../../plugins/data/buckets/index.ts"
import { until } from "../../waiting.ts"

const inAnHour = () => Date.now() + 3_600_000

describe("bucket in a folder", () => {
  let host: TestHost
  let elsewhere: TestHost
  let bucket: Bucket
  before(async () => {
    host = await testHost()
    elsewhere = await testHost()
    bucket = host.get(Buckets).open(host.organization.id)
  })
  after(async () => {
    await host.stop()
    await elsewhere.stop()
  })

  it("keeps objects as files that only the service's user reads, and no draft behind", async () => {
    await bucket.put("shots/one.png", Buffer.from("bytes"))
    const file = join(host.dataDir, "buckets", host.organization.id, "shots/one.png")
    expect(readFileSync(file, "utf8")).to.equal("bytes")
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    expect(readdirSync(join(host.dataDir, "buckets/.drafts"))).to.deep.equal([])
    await bucket.remove("shots/one.png")
    expect(existsSync(file)).to.equal(false)
  })

  it("answers links so that nothing of them can run, spread or be found stale", async () => {
    await bucket.put("shots/two.png", Buffer.from("bytes"))
    const url = await bucket.signedUrl("shots/two.png", inAnHour())
    const answer = await fetch(url)
    const { headers } = answer
    expect(await answer.text()).to.equal("bytes")
    expect(headers.get("x-content-type-options")).to.equal("nosniff")
    expect(headers.get("content-security-policy")).to.contain("default-src 'none'")
    expect(headers.get("referrer-policy")).to.equal("no-referrer")
    expect(headers.get("cache-control")).to.match(/^private, max-age=3[56]\d\d$/)
    const head = await fetch(url, { method: "HEAD" })
    expect([head.status, head.headers.get("content-length"), await head.text()]).to.deep.equal([200, "5", ""])
    const post = await fetch(url, { method: "POST" })
    expect([post.status, post.headers.get("allow")]).to.deep.equal([405, "GET, HEAD, OPTIONS"])
  })

  it("refuses a link once it has expired", async () => {
    await bucket.put("shots/late.png", Buffer.from("bytes"))
    const url = await bucket.signedUrl("shots/late.png", host.clock.now() + 60_000)
    expect((await fetch(url)).status).to.equal(200)
    host.clock.move(61_000)
    const late = await fetch(url)
    const { code, details } = (await late.json()) as { code: string; details: object }
    expect([late.status, code, details]).to.deep.equal([403, "permission_denied", { reason: "link_expired" }])
  })

  it("holds no file open once a link was asked what it leads to", async function () {
    if (process.platform !== "linux") this.skip()
    await bucket.put("shots/asked.png", Buffer.from("bytes"))
    const url = await bucket.signedUrl("shots/asked.png", inAnHour())
    for (let n = 0; n < 5; n++) expect((await fetch(url, { method: "HEAD" })).status).to.equal(200)
    const open = () => readdirSync("/proc/self/fd").map((fd) => realPathOf(`/proc/self/fd/${fd}`))
    await until("no file being held open", () => !open().some((path) => path.endsWith("asked.png")))
  })

  it("fails who reads an object that went meanwhile, and nothing else", async () => {
    await bucket.put("shots/went.png", Buffer.from("bytes"))
    const [unread, read] = [await bucket.get("shots/went.png"), await bucket.get("shots/went.png")]
    await bucket.remove("shots/went.png")
    expect([unread?.size, read?.size]).to.deep.equal([5, 5])
    const reading = async () => {
      for await (const _ of read?.chunks ?? []) break
    }
    const error = await reading().catch((cause: AppError) => cause)
    expect(error?.code).to.equal("unavailable")
  })

  it("tells a forged link from one that is over, and no link opens another service's objects", async () => {
    await bucket.put("shots/three.png", Buffer.from("bytes"))
    const url = await bucket.signedUrl("shots/three.png", inAnHour())
    const reasonOf = async (link: string) => {
      const answer = await fetch(link)
      const body = (await answer.json()) as { code: string; details: { reason: string } }
      return [answer.status, body.code, body.details.reason]
    }
    const forged = [403, "permission_denied", "invalid_signature"]
    expect(await reasonOf(url.replace(host.url, elsewhere.url))).to.deep.equal(forged)
    expect(await reasonOf(url.replace(/expires=\d+/, "expires=1"))).to.deep.equal(forged)
    expect(await reasonOf(`${url}=`)).to.deep.equal(forged)
    expect(await reasonOf(url.replace("shots/three.png", "..%2f..%2fmillrace.db"))).to.deep.equal(forged)
    await bucket.remove("shots/three.png")
    expect(await reasonOf(url)).to.deep.equal([404, "not_found", "object_not_found"])
  })
})

function realPathOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    // Closed after the folder was read.
    return ""
  }
}
