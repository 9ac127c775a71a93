// Quotas of stored files: exact for concurrent uploads, and free again after each kind of end.
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { Bench, type Made } from "../../pipeline/bench.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"

const fileBytes = 1_000
const files = 10
const uploads = 50
const step = { id: "save", type: "dataset.write", dataset_slug: "jobs", key: "email" }

onBothStores("a quota of stored files", ({ start }) => {
  let host: TestHost
  let bench: Bench
  before(async () => {
    const settings = {
      "event-files": { max_pipeline_bytes: files * fileBytes, max_organization_bytes: 25 * fileBytes },
      buckets: { max_object_bytes: 5 * fileBytes },
    }
    host = await start({ env: { ...pluginSettings(settings), MILLRACE_RETENTION_PAYLOADS_DAYS: "1", MILLRACE_JOBS_POLL_MS: "20" } })
    bench = new Bench(host)
  })

  const make = (name: string) => bench.make({ name, accept_files: true, purpose: "record_capture", pipeline: [step] })
  const upload = async ({ inbound_url }: Made, email: string, size = fileBytes) => {
    const form = new FormData()
    form.set("email", email)
    form.set("cv", new File([new Uint8Array(size)], "cv.pdf"))
    const answer = await fetch(inbound_url, { method: "POST", body: form })
    const body = (await answer.json()) as { details?: { reason?: string } }
    return answer.status === 200 ? "stored" : String(body.details?.reason)
  }
  const uploadMany = async (pipeline: Made, prefix: string) => {
    const uploadOne = (_: unknown, n: number) =>
      until("an answer other than 503", async () => {
        const result = await upload(pipeline, `${prefix}-${n}@example.com`)
        return result !== "unavailable" && result
      })
    const results = await Promise.all(Array.from({ length: uploads }, uploadOne))
    return {
      stored: results.filter((result) => result === "stored").length,
      other: new Set(results.filter((result) => result !== "stored")),
    }
  }
  /** Objects of files in the bucket. */
  const objects = async () => {
    const folder = join(host.dataDir, "buckets", host.organization.id, "event-files")
    const matches = await readdir(folder, { recursive: true }).catch(() => [])
    return matches.filter((name) => name.endsWith(".bin")).length
  }

  it("is exact for 50 uploads at once, of a pipeline and of the organization", async () => {
    const [first, second, three] = [await make("One"), await make("Two"), await make("Three")]
    expect(await uploadMany(first, "one")).to.deep.equal({ stored: files, other: new Set(["file_quota_exceeded"]) })
    expect(await objects()).to.equal(files)
    const both = await Promise.all([uploadMany(second, "two"), uploadMany(three, "three")])
    expect(both.reduce((sum, { stored }) => sum + stored, 0)).to.equal(25 - files)
    expect(await objects()).to.equal(25)
  })

  it("is free again after the files expired", async () => {
    for (let hours = 0; hours < 26; hours++) host.clock.move(3_600_000)
    await until("the removal of all files", async () => (await objects()) === 0)
    const pipeline = await make("Later")
    await until("a free quota", async () => (await upload(pipeline, "first@example.com")) === "stored")
    expect((await uploadMany(pipeline, "later")).stored).to.equal(files - 1)
  })

  it("is free again after the person of the files was erased", async () => {
    const pipeline = await make("Erased")
    const size = 5 * fileBytes
    for (let sentCount = 0; sentCount < 2; sentCount++) expect(await upload(pipeline, "ada@example.com", size)).to.equal("stored")
    expect(await upload(pipeline, "grace@example.com")).to.equal("file_quota_exceeded")
    await until("the lead", async () => JSON.stringify((await host.api("GET", "/v1/leads")).body).includes("ada@example.com"))
    expect((await host.api("POST", "/v1/consents/erase", { email: "ada@example.com", reason: "asked" })).status).to.equal(200)
    await until("room for as many bytes", async () => (await upload(pipeline, "grace@example.com", size)) === "stored")
  })

  it("is free again after the bucket refused the file, and no object stays", async () => {
    const pipeline = await make("Refused")
    const before = await objects()
    for (let tries = 0; tries < 3; tries++) expect(await upload(pipeline, "large@example.com", 6 * fileBytes)).not.to.equal("stored")
    expect(await upload(pipeline, "small@example.com", 5 * fileBytes)).to.equal("stored")
    expect(await upload(pipeline, "small@example.com", 5 * fileBytes)).to.equal("stored")
    expect(await upload(pipeline, "small@example.com")).to.equal("file_quota_exceeded")
    expect(await objects()).to.equal(before + 2)
  })
})
