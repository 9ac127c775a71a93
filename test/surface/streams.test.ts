// Streamed answers of one organization: a few are open at once, more wait, and the rest are refused.
import { expect } from "chai"
import { StreamTurns } from "../../core/surface/call/stream-turns.ts"
import { failureOf } from "../refusal.ts"
import { until } from "../waiting.ts"
import { call, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("streams of one organization", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench()
  })
  after(() => bench.close())

  const open = (key: string, signal: AbortSignal) =>
    fetch(`${bench.url}/v1/notes-export?lines=200000`, {
      headers: { authorization: `Bearer ${key}`, "accept-encoding": "identity" },
      signal,
    })

  it("beyond four wait, beyond sixteen waiting are refused, and another organization streams at once", async () => {
    const abort = new AbortController()
    const statuses: number[] = []
    // An unreferenced body is cancelled.
    const responses: Response[] = []
    const calls = Array.from({ length: 40 }, async () => {
      const answer = await open("a-member", abort.signal)
      statuses.push(answer.status)
      responses.push(answer)
      return {
        status: answer.status,
        retryAfter: answer.headers.get("retry-after"),
        body: answer.status === 429 ? await answer.json() : null,
      }
    })
    const outcomes = Promise.allSettled(calls)
    await until("the calls beyond the bound being refused", () => statuses.length === 24)
    expect(statuses.filter((status) => status === 200)).to.have.length(4)
    const other = await call(bench, "GET", "/v1/notes-export?lines=3", { key: "b-member" })
    expect(other.status).to.equal(200)
    expect(responses).to.have.length(24)
    abort.abort()
    const answers = (await outcomes).flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).to.have.length(20)
    for (const { body, retryAfter } of refused) {
      expect(retryAfter).to.equal("5")
      expect(body).to.deep.include({ code: "resource_exhausted", details: { reason: "too_many_exports" } })
    }
    await until("the places being free", async () => (await call(bench, "GET", "/v1/notes-export?lines=3")).status === 200)
  })

  it("give their place back after an error and after a HEAD request", async () => {
    for (let n = 0; n < 6; n++) {
      expect((await call(bench, "GET", "/v1/notes-export?lines=3&fail_at=0")).status).to.equal(503)
      expect((await call(bench, "HEAD", "/v1/notes-export?lines=3")).status).to.equal(200)
      expect((await call(bench, "GET", "/v1/notes-export?lines=3", { key: "a-reader" })).status).to.be.oneOf([200, 403])
    }
    expect((await call(bench, "GET", "/v1/notes-export?lines=3")).status).to.equal(200)
  })
})

describe("the turns of streams", () => {
  it("make the chunks of two organizations in turn", async () => {
    const turns = new StreamTurns()
    const order: string[] = []
    const { signal } = new AbortController()
    const read = async (organization: string, chunks: number) => {
      async function* generate() {
        for (let n = 0; n < chunks; n++) {
          order.push(organization)
          await new Promise((resolve) => setImmediate(resolve))
          yield "chunk"
        }
      }
      const release = await turns.enter(organization, signal)
      const stream = turns.inTurn(organization, { contentType: "", fileName: "", chunks: generate() }, release)
      for await (const chunk of stream.chunks) expect(chunk).to.equal("chunk")
    }
    await Promise.all([read("loud", 40), read("loud", 40), read("loud", 40), read("loud", 40), read("quiet", 10)])
    const last = order.lastIndexOf("quiet")
    expect(order.slice(0, last).filter((value) => value === "loud").length).to.be.below(40)
  })

  it("end the wait of a call whose client has gone", async () => {
    const turns = new StreamTurns()
    const [open, controller] = [new AbortController(), new AbortController()]
    for (let n = 0; n < 4; n++) await turns.enter("acme", open.signal)
    const waiting = turns.enter("acme", controller.signal)
    const next = turns.enter("acme", new AbortController().signal)
    controller.abort(new Error("gone"))
    expect((await failureOf(waiting)).message).to.equal("gone")
    open.abort()
    expect(await next).to.be.a("function")
  })
})
