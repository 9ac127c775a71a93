// Rate limits of an app, per connection. Steps after the reply return without counting a try, awaited steps wait within their
// limit, and no call exceeds the limit.
import { expect } from "chai"
import fc from "fast-check"
import { Store } from "#core"
import { Integrations } from "../../../plugins/agents/integrations/index.ts"
import { CallCounts } from "../../../plugins/agents/integrations/limits/collections.ts"
import { type SpentByWindow, spend } from "../../../plugins/agents/integrations/limits/window.ts"
import { Bench, post } from "../../pipeline/bench.ts"
import { failureOf } from "../../refusal.ts"
import { seed } from "../../tier.ts"
import { until } from "../../waiting.ts"
import { startVendor, type Vendor } from "./vendor.ts"

describe("a window of calls", () => {
  const limit = { requests: 5, per_seconds: 2 }

  it("never has more calls than its limit, wherever it begins, and room again after eleven tenths", () => {
    const waits = fc.array(fc.nat(700), { minLength: 30, maxLength: 80 })
    fc.assert(
      fc.property(waits, fc.nat(10_000), (steps, start) => {
        let now = 1_000_000 + start
        let spent: SpentByWindow = {}
        const created: number[] = []
        for (const step of steps) {
          now += step
          const counted = spend([limit], spent, now)
          const within = (ms: number) => created.filter((at) => at > now - ms).length
          if ("spent" in counted) {
            created.push(now)
            spent = counted.spent
            expect(within(2_000)).to.be.at.most(limit.requests)
          } else {
            expect(within(2_200)).to.be.at.least(limit.requests)
            expect(counted.roomAt)
              .to.be.above(now)
              .and.at.most(now + 2_200)
            expect(spend([limit], spent, counted.roomAt)).to.have.property("spent")
          }
        }
      }),
      { seed },
    )
  })

  it("begins again where the limit was changed, and is not held up by a clock that was set back", () => {
    let spent: SpentByWindow = {}
    for (let count = 0; count < 5; count++) spent = (spend([limit], spent, 5_000_000) as { spent: SpentByWindow }).spent
    expect(spend([limit], spent, 5_000_000)).to.include({ full: limit })
    expect(spend([{ requests: 6, per_seconds: 2 }], spent, 5_000_000)).to.have.property("spent")
    expect(spend([limit], spent, 4_000_000)).to.have.property("spent")
  })
})

describe("rate limits of integrations", () => {
  let vendor: Vendor
  let bench: Bench
  before(async () => {
    const rate_limits = [
      { requests: 3, per_seconds: 10 },
      { requests: 1, per_seconds: 60, counted: false },
    ]
    vendor = await startVendor({}, { rate_limits })
    bench = new Bench(vendor.host)
  })
  after(() => vendor.close())
  beforeEach(() => {
    vendor.answer("good")
    vendor.peer.asked.length = 0
  })

  const connect = async (name: string) => {
    const input = { app: "vendor", name, credentials: { api_key: "SECRET-KEY" }, share_with_org: true }
    return (await vendor.host.api<{ integration_id: string }>("POST", "/v1/integrations-connect", input)).body.integration_id
  }
  const call = (ref: string) => vendor.host.get(Integrations).call(vendor.host.organization.id, ref, { method: "GET", path: "/me" })
  const requestUrls = () => vendor.peer.asked.map(({ url }) => url)
  const use = async (ref: string) => {
    for (let count = 0; count < 3; count++) await call(ref)
    vendor.peer.asked.length = 0
  }

  it("are shown with those that the service cannot count", async () => {
    const { body } = await vendor.host.api<{ integration_apps: { slug: string; rate_limits: object[] }[] }>("GET", "/v1/integration-apps")
    expect(body.integration_apps.find(({ slug }) => slug === "vendor")?.rate_limits).to.deep.equal([
      { requests: 3, per_seconds: 10, counted: true, note: "" },
      { requests: 1, per_seconds: 60, counted: false, note: "" },
    ])
  })

  it("let through as many calls as they say, by all callers together, and each connection has its own", async () => {
    const [id] = [await connect("Counted"), await connect("Uncounted")]
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => call("counted")))
    expect(all.filter(({ status }) => status === "fulfilled")).to.have.length(3)
    const { code, details } = await failureOf(call("counted"))
    expect([code, details?.["reason"]]).to.deep.equal(["unavailable", "app_rate_limited"])
    expect(requestUrls()).to.have.length(3)
    expect((await call("uncounted")).status).to.equal(200)
    expect((await vendor.host.api("POST", `/v1/integrations/${id}/test`)).body).to.include({ ok: false, reason: "rate_limited" })
    expect(requestUrls()).to.have.length(4)
  })

  it("postpone deferred steps, which say so, count no try, and all call once in the end", async () => {
    await connect("Deferred")
    const step = { id: "tell", type: "integration.call", integration: "deferred", path: "/{{ event.n }}", retry: { max_attempts: 1 } }
    const { inbound_url, slug } = await bench.make({ name: "Postponed", pipeline: [step] })
    for (let n = 0; n < 7; n++) expect((await post(inbound_url, { n })).status).to.equal(200)
    const steps = async () => {
      const entries = await Promise.all((await bench.entries(slug)).map(({ id }) => bench.entry(slug, id)))
      return entries.map((entry) => entry.steps["tell"])
    }
    const waiting = await until("four steps being held back", async () => {
      const waitingSteps = (await steps()).filter((record) => record?.state === "pending" && record.error)
      return waitingSteps.length === 4 && waitingSteps
    })
    for (const record of waiting) {
      expect(record).to.include({ attempts: 0 }).and.to.have.property("next_at")
      expect(record?.error?.message).to.match(
        /"deferred" was not called: its app allows 3 calls in 10 s, which are taken. Try again in \d+ s/,
      )
    }
    expect(requestUrls()).to.have.length(3)
    await until("all being called", async () => {
      vendor.host.clock.move(3_000)
      return (await steps()).every((record) => record?.state === "done")
    })
    expect((await steps()).every((record) => record?.attempts === 1)).to.equal(true)
    expect(requestUrls().sort()).to.deep.equal(Array.from({ length: 7 }, (_, n) => `/api/${n}`))
  })

  it("let a step with more elements than the limit go on where it stopped", async () => {
    await connect("List")
    const step = { id: "each", type: "integration.call", integration: "list", for_each: "event.list", path: "/{{ item }}" }
    const { inbound_url, slug } = await bench.make({ name: "Many", pipeline: [step] })
    const list = Array.from({ length: 8 }, (_, n) => n)
    await post(inbound_url, { list })
    const { id } = await bench.newest(slug)
    const waitingEntry = await bench.entryWhen(slug, id, ({ steps }) => steps["each"]?.error !== null)
    expect(waitingEntry.steps["each"]).to.include({ state: "pending", attempts: 0 })
    expect(waitingEntry.steps["each"]?.result).to.have.length(3)
    const finalEntry = await until("all elements being called", async () => {
      vendor.host.clock.move(4_000)
      const entry = await bench.entry(slug, id)
      return entry.steps["each"]?.state === "done" && entry
    })
    expect(finalEntry.steps["each"]).to.include({ attempts: 1 })
    expect(finalEntry.steps["each"]?.result).to.have.length(8)
    expect(requestUrls()).to.deep.equal(list.map((n) => `/api/${n}`))
  })

  it("let a step before the reply wait where its time allows that, and fail it with the reason where not", async () => {
    await connect("Awaited")
    const step = (timeout_ms: number) => ({
      ...{ id: "ask", type: "integration.call", integration: "awaited", await: true, path: "/x", timeout_ms },
    })
    const patient = await bench.make({ name: "Patient", pipeline: [step(30_000)] })
    const hasty = await bench.make({ name: "Hasty", pipeline: [step(1_000)] })
    await use("awaited")
    expect((await post(hasty.inbound_url, {})).status).to.equal(500)
    const failed = await bench.newest(hasty.slug)
    expect(failed).to.include({ status: "failed" })
    expect(failed.steps["ask"]).to.include({ state: "failed", attempts: 0 })
    expect(failed.error?.message).to.match(/its app allows 3 calls in 10 s/)
    expect(requestUrls()).to.deep.equal([])
    let answered = false
    const waiting = post(patient.inbound_url, {}).finally(() => {
      answered = true
    })
    await until("the step being answered", async () => {
      vendor.host.clock.move(2_000)
      return answered
    })
    expect((await waiting).status).to.equal(200)
    expect((await bench.newest(patient.slug)).steps["ask"]).to.include({ state: "done", attempts: 1 })
    expect(requestUrls()).to.deep.equal(["/api/x"])
  })

  it("join what the vendor asks for: nobody calls before its time, and only the refused try counts", async () => {
    const id = await connect("Asking")
    const step = { id: "tell", type: "integration.call", integration: "asking", path: "/x", retry: { max_attempts: 2 } }
    const { inbound_url, slug } = await bench.make({ name: "Asked", pipeline: [step] })
    vendor.answer("limited")
    await post(inbound_url, {})
    await until("the vendor asking to wait", async () => {
      const count = await vendor.host.get(Store).open(CallCounts, vendor.host.organization.id).get(id)
      return count?.asked_until
    })
    vendor.answer("good")
    const finalEntry = await until("the step being done", async () => {
      vendor.host.clock.move(1_000)
      const entry = await bench.newest(slug)
      return entry.steps["tell"]?.state === "done" && entry
    })
    expect(finalEntry.steps["tell"]).to.include({ attempts: 2 })
    expect(requestUrls()).to.have.length(2)
  })
})
