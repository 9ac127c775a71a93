// PDFs that attack the service's memory or time. Each ends in a failure with its reason, in a confined process, while the service
// continues.
import { readdirSync, readFileSync } from "node:fs"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { untilProcess as until } from "../../waiting.ts"
import { KnowledgeBench } from "./bench.ts"
import { bomb, endless, laughs, pdfSaying } from "./documents.ts"

/** Returns the environments of reading processes that can no longer open files. */
function confined(): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8")
      const limits = readFileSync(`/proc/${pid}/limits`, "utf8")
      if (!command.includes("read-main") || !/Max open files +0 +0 /.test(limits)) return []
      const environment = readFileSync(`/proc/${pid}/environ`, "utf8").replaceAll("\0", "")
      // An ended process has an empty environment.
      return environment === "" ? [] : [environment]
    } catch {
      return []
    }
  })
}

describe("hostile documents", () => {
  let bench: KnowledgeBench
  let host: TestHost
  before(async () => {
    const settings = { knowledge: { read_memory_mb: 256, read_timeout_ms: 20_000, readers: 1 } }
    host = await testHost({ env: { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
    bench = new KnowledgeBench(host)
  })
  after(() => host.stop())

  it("end in a failure with a reason, and keep others waiting no longer than their time", async () => {
    const pdfInput = (bytes: Buffer) => ({ type: "pdf", content_base64: bytes.toString("base64") })
    const hostile = await Promise.all([bomb(), laughs(), endless()].map((bytes) => bench.create(pdfInput(bytes))))
    const good = await bench.create(pdfInput(pdfSaying("still here")))
    const visited = new Set<string>()
    await until("the last document being read", async () => {
      for (const environment of confined()) visited.add(environment)
      return (await bench.read(good.id)).content_state === "ready"
    })
    const read = await Promise.all(hostile.map(({ id }) => bench.whenRead(id)))
    expect(read.map(({ content_state }) => content_state)).to.deep.equal(["failed", "failed", "failed"])
    expect(read[0]?.content_reason).to.equal("out_of_memory")
    expect(read[1]?.content_reason).to.be.oneOf(["too_slow", "too_long", "out_of_memory"])
    expect(read[2]?.content_reason).to.be.oneOf(["no_text", "too_slow"])
    if (process.platform === "linux") expect([...visited]).to.deep.equal(["TZ=UTC"])
  })
})
