// The monitor of the main thread: counts long work by operation, and names the operation in one log line.
import { expect } from "chai"
import { Registry } from "prom-client"
import { createLog } from "../../core/kernel/log.ts"
import { MainThreadWatch } from "../../core/kernel/main-thread.ts"
import {
  currentRequest,
  nameWork,
  type RequestScope,
  runInRequest,
  runOutsideRequests,
  workGoesOn,
} from "../../core/kernel/request-scope.ts"
import { collected } from "../garbage.ts"
import { until } from "../waiting.ts"

/** Uses the processor for this many milliseconds. */
function work(milliseconds: number): void {
  const before = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(before)
    if (user + system > milliseconds * 1_000) return
  }
}

describe("the watch of the main thread", () => {
  let lines: string[]
  let metrics: Registry
  let watch: MainThreadWatch
  beforeEach(() => {
    lines = []
    metrics = new Registry()
    watch = new MainThreadWatch({ log: createLog("info", { write: (line) => void lines.push(line) }), metrics })
    watch.start()
  })
  afterEach(() => watch.stop())

  const counted = async () => {
    const text = await metrics.metrics()
    const matches = text.matchAll(/millrace_main_thread_stretch_seconds_count\{operation="([^"]+)"\} (\d+)/g)
    return Object.fromEntries([...matches].map(([, operation, count]) => [operation, Number(count)]))
  }

  it("counts a long stretch of a request, and names its organization in the log", async () => {
    runInRequest({ fail: () => {}, work: { operation: "http", organization: "" } }, () => {
      nameWork({ operation: "datasets.insert_rows", organization: "acme" })
      work(120)
    })
    await until("the stretch being counted", async () => (await counted())["datasets.insert_rows"] === 1)
    const line = lines.map((text) => JSON.parse(text) as Record<string, unknown>).find(({ operation }) => operation !== undefined)
    expect(line).to.include({ operation: "datasets.insert_rows", organization: "acme", unlogged: 0 })
    expect(line?.["cpu_ms"]).to.be.at.least(100)
  })

  it("names the job that goes on after it waited, and not work that ran beside it", async () => {
    const outside = runOutsideRequests(
      async () => {
        await new Promise((resolve) => setImmediate(resolve))
        workGoesOn()
        work(120)
      },
      { operation: "job knowledge.index", organization: "acme" },
    )
    runInRequest({ fail: () => {}, work: { operation: "inbound", organization: "bolt" } }, () => work(2))
    await outside
    runInRequest({ fail: () => {}, work: { operation: "inbound", organization: "bolt" } }, () => work(2))
    await until("the stretch being counted", async () => (await counted())["job knowledge.index"] === 1)
    expect(await counted()).to.have.all.keys("job knowledge.index")
  })

  it("writes one line for many stretches", async () => {
    for (let n = 1; n <= 3; n++) {
      runOutsideRequests(() => work(80), { operation: "mail", organization: "acme" })
      await until("the stretch being counted", async () => ((await counted())["mail"] ?? 0) === n)
    }
    expect(lines).to.have.length(1)
  })

  it("leaves a job without a request", () => {
    runOutsideRequests(() => expect(currentRequest()).to.equal(undefined), { operation: "mail", organization: "" })
  })

  it("keeps nothing of a request after its long stretch", async () => {
    watch.stop()
    await collected("the request", longRequest())
  })
})

function longRequest(): WeakRef<RequestScope> {
  const scope: RequestScope = { fail: () => {}, work: { operation: "http", organization: "" } }
  runInRequest(scope, () => work(200))
  return new WeakRef(scope)
}
