// The contract of both kinds of bucket: bytes are returned unchanged, links expire at their stated time, and objects of other
// organizations are unreachable.
import { expect } from "chai"
import fc from "fast-check"
import type { TestHost } from "#core/testing"
import { type Bucket, Buckets, maxLinkMs } from "../../../plugins/data/buckets/index.ts"
import { failureOf, refusalOf } from "../../refusal.ts"
import { until } from "../../waiting.ts"
import { onBothBuckets } from "./stores.ts"

const other = "01900000-0000-7000-8000-000000000001"
const inAnHour = () => Date.now() + 3_600_000

onBothBuckets("buckets", (leg) => {
  let host: TestHost
  let bucket: Bucket
  before(async () => {
    host = await leg.start({ buckets: { max_object_bytes: 1_000_000 } })
    bucket = host.get(Buckets).open(host.organization.id)
  })

  it("gives back the bytes that were put, with their type, and replaces them as a whole", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), fc.uint8Array({ maxLength: 50 }), async (first, second) => {
        await bucket.put("things/of-a-test.png", first)
        expect(await bytesOf(bucket, "things/of-a-test.png")).to.deep.equal(Buffer.from(first))
        await bucket.put("things/of-a-test.png", second)
        expect(await bytesOf(bucket, "things/of-a-test.png")).to.deep.equal(Buffer.from(second))
      }),
      { numRuns: 15 },
    )
    const match = await bucket.get("things/of-a-test.png")
    expect(match?.media_type).to.equal("image/png")
    await match?.chunks[Symbol.asyncIterator]().return?.()
  })

  it("knows nothing of what was never put or was removed, and removing that again is fine", async () => {
    await bucket.put("gone.json", Buffer.from("{}"))
    await bucket.remove("gone.json")
    await bucket.remove("gone.json")
    expect(await bucket.get("gone.json")).to.equal(undefined)
    expect(await bucket.get("never/was/here.png")).to.equal(undefined)
    // A folder of a key is not an object, and neither is a key below an object.
    await bucket.put("a/b.png", Buffer.from("b"))
    expect(await bucket.get("a.png")).to.equal(undefined)
  })

  it("hands out links that read one object without a credential", async () => {
    await bucket.put("seen/by-all.csv", Buffer.from("a,b\r\n1,2\r\n"))
    const url = await bucket.signedUrl("seen/by-all.csv", inAnHour())
    const answer = await fetch(url)
    expect(answer.status).to.equal(200)
    expect(answer.headers.get("content-type")).to.equal("text/csv; charset=utf-8")
    expect(await answer.text()).to.equal("a,b\r\n1,2\r\n")
    const removed = await bucket.signedUrl("seen/never.csv", inAnHour())
    expect((await fetch(removed)).status).to.equal(404)
  })

  it("refuses a link that was changed in any part", async () => {
    await bucket.put("mine.txt", Buffer.from("MINE"))
    await bucket.put("also-mine.txt", Buffer.from("ALSO"))
    await host.get(Buckets).open(other).put("mine.txt", Buffer.from("THEIRS"))
    const url = await bucket.signedUrl("mine.txt", inAnHour())
    const changes: [what: string, changed: string, statusOfS3: number][] = [
      ["key", url.replace("mine.txt", "also-mine.txt"), 403],
      ["organization", url.replace(host.organization.id, other), 403],
      ["no signature", url.replace(/[?&](X-Amz-S|s)ignature=[^&]+/, ""), 400],
      ["signature", url.replace(/(ignature=)(.)/, (_all, name: string, first: string) => name + (first === "a" ? "b" : "a")), 403],
      ["longer life", url.replace(/((?:X-Amz-E|e)xpires=)(\d+)/, (_all, name: string, life: string) => name + (Number(life) + 1_000)), 403],
      ["bare", url.split("?")[0] ?? "", 403],
    ]
    for (const [what, changed, statusOfS3] of changes) {
      expect(changed, what).not.to.equal(url)
      const answer = await fetch(changed)
      expect(answer.status, what).to.equal(leg.kind === "s3" ? statusOfS3 : 403)
      expect(await answer.text(), what).not.to.match(/MINE|ALSO|THEIRS/)
    }
    expect(await (await fetch(url)).text()).to.equal("MINE")
  })

  it("ends a link's life at the time it says", async () => {
    await bucket.put("short.txt", Buffer.from("SHORT"))
    const ends = Date.now() + 1_000
    const url = await bucket.signedUrl("short.txt", ends)
    const ended = await until("the end of the link", async () => {
      const { status } = await fetch(url)
      return status !== 200 && { status, over: Date.now() >= ends }
    })
    expect(ended).to.deep.equal({ status: 403, over: true })
    expect(await (await fetch(url)).text()).not.to.contain("SHORT")
  })

  it("signs nothing that lives too long, or is over already", async () => {
    for (const [at, code, reason] of [
      [Date.now() + maxLinkMs + 60_000, "out_of_range", "link_ttl_too_long"],
      [Date.now() - 1, "failed_precondition", "already_expired"],
    ] as const) {
      const error = await refusalOf(bucket.signedUrl("x.png", at))
      expect([error.code, error.details.reason]).to.deep.equal([code, reason])
    }
  })

  it("keeps each organization's objects from the others", async () => {
    const theirs = host.get(Buckets).open(other)
    await bucket.put("same/key.png", Buffer.from("ours"))
    expect(await theirs.get("same/key.png")).to.equal(undefined)
    await theirs.put("same/key.png", Buffer.from("theirs"))
    await theirs.remove("same/key.png")
    expect(String(await bytesOf(bucket, "same/key.png"))).to.equal("ours")
    const nowhere = await failureOf(host.get(Buckets).open("../x").put("a.png", Buffer.of()))
    expect(nowhere.message).to.contain("not an organization")
  })

  it("refuses what is not a key, naming it", async () => {
    const bad = [
      "../up.png",
      "a/../b.png",
      "/a.png",
      "a//b.png",
      "a.png/",
      "A.png",
      "a.html",
      "a.svg",
      "a",
      "",
      ".png",
      "a b.png",
      "a\0.png",
      "a.tar.png",
      "%2e/a.png",
      "a\\b.png",
      `${"a/".repeat(9)}b.png`,
    ]
    for (const key of bad) {
      for (const doing of [bucket.put(key, Buffer.of(1)), bucket.get(key), bucket.remove(key), bucket.signedUrl(key, inAnHour())]) {
        const error = await refusalOf(doing)
        expect([key, error.code, error.details.reason]).to.deep.equal([key, "invalid_argument", "invalid_bucket_key"])
      }
    }
  })

  it("refuses an object that is too large, and keeps what was there", async () => {
    await bucket.put("size.txt", Buffer.from("small"))
    const error = await refusalOf(bucket.put("size.txt", Buffer.alloc(1_000_001)))
    expect([error.code, error.details]).to.deep.equal(["resource_exhausted", { reason: "object_too_large", retryable: false }])
    expect(String(await bytesOf(bucket, "size.txt"))).to.equal("small")
  })
})

async function bytesOf(bucket: Bucket, key: string): Promise<Buffer | undefined> {
  const match = await bucket.get(key)
  if (!match) return undefined
  const chunks: Uint8Array[] = []
  for await (const chunk of match.chunks) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  expect(match.size).to.equal(bytes.length)
  return bytes
}
