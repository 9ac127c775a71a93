// Work after the reply: its order, retries, failures, and resumption on another node.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { AppError } from "#core"
import type { TestHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"
import { fails, outsideWorld } from "../outside-world.ts"
import { onStoresInTurn } from "../stores.ts"

const quick = { max_attempts: 3, initial_delay_ms: 5, max_delay_ms: 20 }

onStoresInTurn("deferred steps", ({ start }) => {
  const world = outsideWorld()
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await start({ plugins: [world.plugin], env: { MILLRACE_JOBS_POLL_MS: "20" } })
    bench = new Bench(host)
  })
  beforeEach(() => {
    world.acts.splice(0)
    world.answer = ({ says }) => ({ said: says })
  })
  const send = async (slug: string, url: string, payload: unknown = { n: 1 }) => {
    const answer = await post(url, payload)
    expect(answer.status, answer.text).to.equal(200)
    return (await bench.newest(slug)).id
  }
  const whenSettled = (slug: string, id: string) =>
    bench.entryWhen(slug, id, ({ steps }) => Object.values(steps).every(({ state }) => state !== "pending"))

  it("keep what is named like a secret sealed in their job, and have it in clear when they run", async () => {
    const pipeline = await bench.make({
      name: "Sealed",
      pipeline: [{ id: "act", type: "world.act", says: "{{ event.password }} {{ event.name }}", retry: { max_attempts: 1 } }],
    })
    world.answer = () => fails("the peer is down")
    const id = await send("sealed", pipeline.inbound_url, { password: "p-1-secret", name: "Ada" })
    await whenSettled("sealed", id)
    const [job] = await until("the dead job", async () => {
      const jobs = await bench.jobs()
      return jobs[0]?.state === "dead" && jobs
    })
    expect(JSON.stringify(job)).to.include("Ada").and.not.to.include("p-1-secret")
    world.answer = ({ says }) => ({ said: says })
    const retried = await host.api("POST", `/v1/jobs/${job?.id}/retry`, {})
    expect(retried.status, JSON.stringify(retried.body)).to.equal(200)
    await until("the job being done", async () => (await bench.jobs()).length === 0)
    expect(world.acts.map(({ says }) => says)).to.deep.equal(["p-1-secret Ada", "p-1-secret Ada"])
  })

  it("run in the order of needs and reads, with the results of those before, and nothing after the reply holds it up", async () => {
    const { inbound_url } = await bench.make({
      name: "Order",
      pipeline: [
        { id: "first", type: "world.act", says: "{{ event.n }}" },
        { id: "row", type: "dataset.write", dataset_slug: "order", row: { n: "{{ event.n }}" } },
        { id: "second", type: "world.act", needs: ["first"], says: "{{ steps.first.said }}" },
        { id: "third", type: "world.act", needs: ["second"], when: "event.n > 5", says: "never" },
        { id: "fourth", type: "dataset.write", needs: ["third"], dataset_slug: "later", row: { got: "{{ steps.second.said }}" } },
      ],
    })
    const id = await send("order", inbound_url)
    const entry = await whenSettled("order", id)
    expect(world.acts.map(({ step, says }) => [step, says])).to.deep.equal([
      ["first", 1],
      ["second", 1],
    ])
    expect(Object.fromEntries(Object.entries(entry.steps).map(([step, { state }]) => [step, state]))).to.deep.equal({
      first: "done",
      row: "done",
      second: "done",
      third: "skipped",
      fourth: "done",
    })
    expect((await bench.rows("later")).map(({ values }) => values["got"])).to.deep.equal([1])
    expect(entry.rows.map(({ step }) => step).sort()).to.deep.equal(["fourth", "row"])
    await until(async () => (await bench.jobs()).length === 0)
  })

  it("are retried with backoff and one idempotency key", async () => {
    world.answer = ({ attempt }) => (attempt < 3 ? fails("not yet") : { done: true })
    const { inbound_url } = await bench.make({ name: "Again", pipeline: [{ id: "act", type: "world.act", says: 1, retry: quick }] })
    const entry = await whenSettled("again", await send("again", inbound_url))
    expect(entry.steps["act"]).to.include({ state: "done", attempts: 3 })
    expect(world.acts.map(({ attempt }) => attempt)).to.deep.equal([1, 2, 3])
    expect(new Set(world.acts.map(({ key }) => key)).size).to.equal(1)
    expect(entry.status).to.equal("accepted")
  })

  it("do not count attempts for which this service itself had no descriptor left", async () => {
    const full = () => {
      throw new AppError("unavailable", "No file descriptor is left.", { reason: "no_descriptors" }, { notTried: true })
    }
    world.answer = () => (world.acts.length <= 5 ? full() : { done: true })
    const { inbound_url } = await bench.make({ name: "Own", pipeline: [{ id: "act", type: "world.act", says: 1, retry: quick }] })
    const entry = await whenSettled("own", await send("own", inbound_url))
    expect(entry.steps["act"]).to.include({ state: "done", attempts: 1 })
    expect([world.acts.length, entry.status]).to.deep.equal([6, "accepted"])
  })

  it("that exhaust their tries turn the entry failed and leave a dead job; retried by hand, it is mended", async () => {
    let broken = true
    world.answer = ({ step }) => (broken && step === "act" ? fails("the peer is down") : {})
    const { inbound_url } = await bench.make({
      name: "Exhausted",
      pipeline: [
        { id: "act", type: "world.act", says: 1, retry: quick },
        { id: "behind", type: "world.act", needs: ["act"], says: 2 },
        { id: "beside", type: "world.act", needs: [], says: 3 },
      ],
    })
    const id = await send("exhausted", inbound_url)
    const failed = await bench.entryWhen("exhausted", id, ({ status }) => status === "failed")
    expect(failed).to.deep.include({ cause: "action_failed", error: { code: "unavailable", message: "the peer is down", step: "act" } })
    expect(failed.steps["act"]).to.include({ state: "failed", attempts: 3 })
    expect([failed.steps["behind"]?.state, failed.steps["beside"]?.state]).to.deep.equal(["skipped", "done"])
    expect(failed.steps["behind"]?.skipped_after).to.equal("act")
    await until(async () => (await bench.jobs())[0]?.state === "dead")
    expect(world.acts.filter(({ step }) => step === "beside")).to.have.length(1)

    broken = false
    const retry = await host.api<{ steps: string[] }>("POST", `/v1/event-pipelines/exhausted/executions/${id}/retry`)
    expect([retry.status, retry.body.steps]).to.deep.equal([200, ["act", "behind"]])
    const mended = await whenSettled("exhausted", id)
    await until(async () => (await bench.jobs()).length === 0)
    expect(await bench.entry("exhausted", id)).to.include({ status: "accepted", cause: "", error: null })
    expect([mended.steps["act"]?.state, mended.steps["behind"]?.state]).to.deep.equal(["done", "done"])
    expect(world.acts.filter(({ step }) => step === "beside")).to.have.length(1)
    expect(new Set(world.acts.filter(({ step }) => step === "act").map(({ key }) => key)).size).to.equal(1)
    const none = await host.api<{ details: object }>("POST", `/v1/event-pipelines/exhausted/executions/${id}/retry`)
    expect([none.status, none.body.details]).to.deep.equal([400, { reason: "nothing_to_retry" }])
  })

  it("fail at once what cannot get better, without waking what had failed while another waits", async () => {
    world.answer = ({ step, attempt }) => (step === "hopeless" ? fails("refused", false) : attempt < 3 ? fails("not yet") : {})
    const { inbound_url } = await bench.make({
      name: "Hopeless",
      pipeline: [
        { id: "hopeless", type: "world.act", needs: [], says: 1, retry: quick },
        { id: "slow", type: "world.act", needs: [], says: 2, retry: quick },
      ],
    })
    const id = await send("hopeless", inbound_url)
    const failed = await bench.entryWhen("hopeless", id, ({ status }) => status === "failed")
    expect(failed.steps["hopeless"]).to.include({ state: "failed", attempts: 1 })
    expect(failed.steps["slow"]).to.include({ state: "done", attempts: 3 })
    expect(world.acts.filter(({ step }) => step === "hopeless")).to.have.length(1)
  })

  it("continue over an error, or hand it to a handler, whose dependents are skipped", async () => {
    world.answer = ({ step }) => (step === "one" || step === "two" ? fails("no", false) : {})
    const { inbound_url } = await bench.make({
      name: "Handled",
      pipeline: [
        { id: "one", type: "world.act", says: 1, on_error: "continue" },
        { id: "after_one", type: "world.act", needs: ["one"], says: 2 },
        { id: "two", type: "world.act", needs: [], says: 3, on_error: "mend" },
        { id: "after_two", type: "world.act", needs: ["two"], says: 4 },
      ],
      handlers: { mend: { type: "dataset.write", dataset_slug: "mended", row: { n: "{{ event.n }}" } } },
    })
    const entry = await whenSettled("handled", await send("handled", inbound_url))
    const states = Object.fromEntries(Object.entries(entry.steps).map(([step, { state }]) => [step, state]))
    expect(states).to.deep.equal({ one: "failed", after_one: "done", two: "failed", after_two: "skipped", mend: "done" })
    expect(entry.steps["after_two"]?.skipped_after).to.equal("two")
    expect(entry).to.include({ status: "accepted" })
    expect(await bench.rows("mended")).to.have.length(1)
  })

  it("hand a failure before the reply to a handler after it", async () => {
    const { inbound_url } = await bench.make({
      name: "Late handler",
      pipeline: [
        { id: "say", type: "live.broadcast", channel: "{{ event.channel }}", on_error: "report" },
        { id: "behind", type: "dataset.write", needs: ["say"], dataset_slug: "behind", row: { n: 1 } },
      ],
      handlers: { report: { type: "world.act", says: "{{ event.channel }}" } },
    })
    const entry = await whenSettled("late-handler", await send("late-handler", inbound_url, { channel: "!!" }))
    expect(entry.steps["report"]).to.include({ state: "done" })
    expect([entry.steps["say"]?.state, entry.steps["behind"]?.state, entry.status]).to.deep.equal(["failed", "skipped", "accepted"])
    expect(world.acts.map(({ says }) => says)).to.deep.equal(["!!"])
    expect(await bench.rows("behind")).to.have.length(0)
  })

  it("run for each element, a key each, and give up at their deadline", async () => {
    const { inbound_url } = await bench.make({
      name: "Each",
      pipeline: [
        { id: "rows", type: "dataset.write", for_each: "event.list", dataset_slug: "each", row: { n: "{{ item }}" } },
        { id: "act", type: "world.act", for_each: "event.list", says: "{{ item }}" },
        { id: "late", type: "world.act", needs: [], says: "late", timeout_ms: 20, retry: { max_attempts: 1 }, on_error: "continue" },
      ],
    })
    let stopped: unknown
    world.answer = ({ step, says }, signal) =>
      step === "late"
        ? new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => {
              stopped = signal.reason
              reject(new Error("stopped"))
            }),
          )
        : says
    const entry = await whenSettled("each", await send("each", inbound_url, { list: [5, 6, 7] }))
    expect(entry.steps["act"]?.result).to.deep.equal([5, 6, 7])
    expect(new Set(world.acts.filter(({ step }) => step === "act").map(({ key }) => key)).size).to.equal(3)
    expect((await bench.rows("each")).map(({ values }) => values["n"]).sort()).to.deep.equal([5, 6, 7])
    expect(entry.rows).to.have.length(3)
    expect(entry.steps["late"]?.error?.code).to.equal("deadline_exceeded")
    expect(stopped).to.be.instanceOf(AppError).with.nested.property("details.reason", "attempt_timeout")
  })

  it("run as the pipeline was when the event came", async () => {
    let letGo: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    world.answer = async ({ step }) => {
      if (step === "held") await gate
      return {}
    }
    const pipeline = (says: string) => [
      { id: "held", type: "world.act", says: 0 },
      { id: "told", type: "world.act", needs: ["held"], says },
    ]
    const { inbound_url } = await bench.make({ name: "Changed", pipeline: pipeline("old") })
    const id = await send("changed", inbound_url)
    const { status } = await host.api("PUT", "/v1/event-pipelines/changed", { pipeline: pipeline("new"), state: "disabled" })
    expect(status).to.equal(200)
    letGo()
    await whenSettled("changed", id)
    expect(world.acts.filter(({ step }) => step === "told").map(({ says }) => says)).to.deep.equal(["old"])
    expect((await post(inbound_url, {})).status).to.equal(404)
  })

  it("fail permanently, and are not retried, when their templates need more than a step may have", async () => {
    const { inbound_url } = await bench.make({
      name: "Too much",
      pipeline: [
        { id: "act", type: "world.act", says: "{{ (1..4000000) | size }}".repeat(25), retry: { max_attempts: 5, initial_delay_ms: 1 } },
      ],
    })
    const id = await send("too-much", inbound_url)
    const entry = await bench.entryWhen("too-much", id, ({ status }) => status === "failed")
    expect(entry.steps["act"]).to.include({ state: "failed", attempts: 1 })
    expect(entry.steps["act"]?.error?.message).to.match(/Compute lists and long texts in the transform/)
    expect(world.acts).to.deep.equal([])
    const job = async () => (await bench.jobs()).find(({ payload }) => (payload as { execution_id?: string }).execution_id === id)
    await until(async () => (await job())?.state === "dead")
    expect((await job())?.attempts).to.equal(1)
  })
})

onStoresInTurn("deferred steps of a node that stops", ({ start, storage }) => {
  let dataDir: string
  before(() => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-stop-"))
  })
  // After the suite's hosts have stopped, since they write to it until then.
  after(() => rmSync(dataDir, { recursive: true, force: true }))

  it("are given back, their try uncounted, and run by the next", async () => {
    const env = { ...(await storage()), MILLRACE_JOBS_POLL_MS: "20", MILLRACE_SERVER_DRAIN_MS: "100", MILLRACE_JOBS_CONCURRENCY: "1" }
    const first = outsideWorld()
    first.answer = () => new Promise(() => {})
    const host = await start({ plugins: [first.plugin], env, dataDir })
    const { inbound_url } = await new Bench(host).make({
      name: "Stopped",
      pipeline: [{ id: "act", type: "world.act", says: "{{ event.n }}" }],
    })
    for (const n of [1, 2, 3]) await post(inbound_url, { n })
    await until(() => first.acts.length === 1)
    await host.stop()
    expect(first.acts).to.have.length(1)

    const second = outsideWorld()
    const two = await start({ plugins: [second.plugin], env, dataDir })
    const bench = new Bench(two)
    await until(() => second.acts.length === 3)
    expect(second.acts.map(({ says }) => says).sort()).to.deep.equal([1, 2, 3])
    expect(second.acts.map(({ attempt }) => attempt)).to.deep.equal([1, 1, 1])
    const act = first.acts[0]
    expect(second.acts.find(({ execution }) => execution === act?.execution)?.key).to.equal(act?.key)
    await until(async () => (await bench.jobs()).length === 0)
  })
})
