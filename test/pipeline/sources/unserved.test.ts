// Requests that the service itself could not serve: each is answered 503, counted by its reason and logged at a bounded rate, at
// any stage of the fault.
// Faults of the sender and load by others do not count.
import { expect } from "chai"
import { AppError, Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { CacheInvalidation } from "../../../core/contract/cluster.ts"
import { Sandbox } from "../../../core/pipeline/sandbox/sandbox.ts"
import { PipelineSource } from "../../../core/pipeline/source.ts"
import { ShiftedClock } from "../../shifted-clock.ts"
import { until } from "../../waiting.ts"
import { Bench, type Made, post } from "../bench.ts"
import { outsideWorld } from "../outside-world.ts"

const down = (reason: string) => AppError.from({ code: "unavailable", message: `node-7: ${reason}`, details: { reason } })

describe("requests that the service could not serve", () => {
  const clock = new ShiftedClock()
  let host: TestHost
  let pipeline: Made
  before(async () => {
    host = await testHost({ clock })
    pipeline = await new Bench(host).make({
      name: "Counted",
      request_schema: { type: "object" },
      // A program that needs the sandbox.
      transform_js: "function transform(event) { return Object.assign({}, event) }",
      pipeline: [{ type: "dataset.write", dataset_slug: "counted" }],
    })
    await post(pipeline.inbound_url, {})
  })
  after(() => host.stop())

  const counted = async () => {
    const text = await (await fetch(`${host.url}/metrics`)).text()
    const rows = text.matchAll(/^millrace_inbound_errors_total\{reason="(\w+)"\} (\d+)$/gm)
    return Object.fromEntries([...rows].map(([, reason, count]) => [reason, Number(count)]))
  }
  const logLinesOf = (reason: string) =>
    host.logged
      .map((line) => JSON.parse(line) as { msg: string; reason?: string; omitted?: number; err?: { message: string } })
      .filter((line) => line.msg === "inbound requests are answered 503" && line.reason === reason)
  /** Runs with one method of a service replaced. */
  const instead = async <T extends object, K extends keyof T>(service: T, method: K, other: T[K], run: () => Promise<void>) => {
    const real = service[method]
    service[method] = other
    try {
      await run()
    } finally {
      service[method] = real
    }
  }

  const unknown = `in_${"x".repeat(22)}`
  const faults: readonly [reason: string, where: string, during: (run: () => Promise<void>) => Promise<void>, url?: () => string][] = [
    ["storage_full", "the commit", (run) => instead(host.get(Store), "commit", () => Promise.reject(down("storage_full")), run)],
    [
      "sandbox_unavailable",
      "the transform",
      (run) =>
        instead(host.get(Sandbox), "run", () => Promise.resolve({ ok: false, kind: "unavailable", message: "no process" } as const), run),
    ],
    [
      "lease_lost",
      "the arrival",
      (run) =>
        instead(
          host.get(CacheInvalidation),
          "assertLease",
          () => {
            throw down("lease_lost")
          },
          run,
        ),
    ],
    [
      "read_failed",
      "the look-up of the pipeline",
      (run) => instead(host.get(PipelineSource), "byEndpoint", () => Promise.reject(down("read_failed")), run),
      () => pipeline.inbound_url.replace(/in_\w+$/, unknown),
    ],
  ]
  for (const [reason, where, during, url = () => pipeline.inbound_url] of faults) {
    it(`by ${reason}, met at ${where}, are counted and told once in ten seconds, with how many were left out`, async () => {
      const before = (await counted())[reason] ?? 0
      const send = async () => {
        const { status, headers, text } = await post(url(), {})
        expect([status, headers.get("retry-after")]).to.deep.equal([503, "1"])
        expect(text).not.to.include("node-7")
      }
      await during(async () => {
        // With a stopped clock, ten seconds do not pass by themselves.
        clock.stand()
        for (let n = 0; n < 5; n++) await send()
        expect(logLinesOf(reason).length).to.equal(1)
        clock.ahead += 10_000
        await send()
      })
      expect(logLinesOf(reason).map(({ omitted }) => omitted)).to.deep.equal([undefined, 4])
      expect(((await counted())[reason] ?? 0) - before).to.equal(6)
      expect((await post(pipeline.inbound_url, {})).status).to.equal(200)
    })
  }

  it("are counted as internal where the fault is a defect, and answered 500", async () => {
    await instead(
      host.get(Store),
      "commit",
      () => Promise.reject(new TypeError("not a function")),
      async () => {
        expect((await post(pipeline.inbound_url, {})).status).to.equal(500)
      },
    )
    expect((await counted())["internal"]).to.equal(1)
  })

  it("are none of those whose transform ran out of memory, which say so with their execution", async () => {
    const before = await counted()
    const failure = { ok: false, kind: "memory", message: "The transform ran out of memory." } as const
    await instead(
      host.get(Sandbox),
      "run",
      () => Promise.resolve(failure),
      async () => {
        const { status, body } = await post(pipeline.inbound_url, {})
        expect([status, body.code, body.details.reason]).to.deep.equal([400, "failed_precondition", "transform_memory"])
        expect(body.details).to.have.property("execution_id")
      },
    )
    expect(await counted()).to.deep.equal(before)
  })

  it("are none of those that their sender got wrong", async () => {
    const before = await counted()
    for (const body of ["{", "[]"]) expect((await post(pipeline.inbound_url, body)).status).to.equal(400)
    expect((await post(`${host.url}/v1/inbound/${unknown}`, {})).status).to.equal(404)
    expect((await post(pipeline.inbound_url, "x".repeat(1_100_000))).status).to.equal(413)
    expect(await counted()).to.deep.equal(before)
  })
})

describe("an event of a pipeline that is changed meanwhile", () => {
  it("is answered 503 once the change waits no longer for it, and leaves nothing", async () => {
    const world = outsideWorld()
    const host = await testHost({ plugins: [world.plugin as never], env: { MILLRACE_SERVER_DRAIN_MS: "100" } })
    try {
      const bench = new Bench(host)
      const steps = [
        { id: "act", type: "world.act", says: "held", await: true, timeout_ms: 600_000 },
        { type: "dataset.write", dataset_slug: "held" },
      ]
      const { inbound_url } = await bench.make({ name: "Held", pipeline: steps })
      let letGo: () => void = () => {}
      world.answer = () =>
        new Promise((resolve) => {
          letGo = () => resolve("done")
        })
      const message = post(inbound_url, { n: 1 })
      await until("the step being run", () => world.acts.length > 0)
      expect((await host.api("PUT", "/v1/event-pipelines/held", { state: "disabled" })).status).to.equal(200)
      letGo()
      const { status, body, headers } = await message
      expect([status, body.code, body.details.reason, headers.get("retry-after")]).to.deep.equal([
        503,
        "unavailable",
        "pipeline_changed",
        "1",
      ])
      expect(await bench.rows("held")).to.deep.equal([])
    } finally {
      await host.stop()
    }
  })
})
