// Runs over HTTP with a loopback agent and judge of known truth.
import { expect } from "chai"
import { until } from "../../waiting.ts"
import { bySight, EvalBench, type Run } from "./bench.ts"

describe("runs of eval suites", () => {
  let bench: EvalBench
  before(async () => {
    bench = await EvalBench.open({ evals: { nightly_cron: "* * * * *", max_cells: 30 } })
  })
  beforeEach(() => {
    bench.forget()
    bench.agent.answer(() => "It is right.")
    bench.judge.answer(bySight)
  })
  after(() => bench.close())

  it("ask the agent each case, have each answer judged, and say what it cost", async () => {
    const suite = await bench.suite("first", ["one", "two"])
    const run = await bench.run(suite, 2)
    expect(run).to.deep.include({
      status: "completed",
      cause: "manual",
      verdict: "passed",
      score: 100,
      red: [],
      flaky: [],
      baseline_run_id: null,
    })
    expect(run.judge).to.equal("judge-1@eval-judge-v1")
    expect(run.cases.map(({ case: slug, state, passed }) => [slug, state, passed])).to.deep.equal([
      ["one", "new", 2],
      ["two", "new", 2],
    ])
    expect(bench.agent.asked.map(({ input, repeat }) => `${input} ${repeat}`).sort()).to.deep.equal([
      "Question one of first 1",
      "Question one of first 2",
      "Question two of first 1",
      "Question two of first 2",
    ])
    const [request] = bench.agent.asked
    expect(request?.headers.authorization).to.equal("Bearer agent-secret")
    expect(request?.path).to.equal("/desk")
    expect(new Set(bench.agent.asked.map(({ headers }) => headers["idempotency-key"])).size).to.equal(4)
    // Equal answers to equal questions share one verdict and one request.
    expect(bench.judge.asked.length).to.be.within(2, 4)
    expect(JSON.stringify(bench.judge.asked)).to.not.match(/desk|agent-secret/)
    expect(run.cost_millicents).to.be.greaterThan(0)
    // Sent after the commit, so a reader may see the run earlier.
    await until("news of its start and its end", async () => {
      const news = (await bench.host.broadcasts("evals")).filter(({ data }) => (data as { run_id: string }).run_id === run.id)
      return ["run_started", "run_finished"].every((expected) => news.some(({ event }) => event === expected))
    })
  })

  it("speak chat completions, and count their tokens", async () => {
    const suite = await bench.suite("chatting", ["one"], { agent_key: "chat" })
    const run = await bench.run(suite, 1)
    expect(run.verdict).to.equal("passed")
    expect(bench.agent.asked[0]?.body).to.deep.equal({
      model: "agent-1",
      messages: [
        { role: "system", content: "You are a desk." },
        { role: "user", content: "Question one of chatting" },
      ],
    })
    // 1,100 tokens of the agent and 120 of the judge, at 1,000 millicents per million.
    expect(run.cost_millicents).to.be.closeTo(1.22, 0.001)
  })

  it("name a flaky agent's case without calling it a regression", async () => {
    const suite = await bench.suite("flaky", ["steady", "moody"], { pass_threshold: 70 })
    expect((await bench.run(suite, 4)).verdict).to.equal("passed")
    bench.agent.answer(({ input, repeat }) => (input.includes("moody") && repeat % 2 === 0 ? "No idea." : "It is right."))
    const run = await bench.run(suite, 4)
    expect(run).to.deep.include({ verdict: "passed", score: 75, flaky: ["moody"], red: [] })
    expect(run.cases.find((report) => report.case === "moody")).to.deep.include({ state: "green", passed: 2, failed: 2 })
  })

  it("call a case red that its repeats say got worse, and hold later runs against the last passing one", async () => {
    const suite = await bench.suite("worse", ["one", "two", "three", "four", "five", "six"], { pass_threshold: 50 })
    const first = await bench.run(suite, 3)
    bench.agent.answer(({ input }) => (input.includes("two") ? "Wrong." : "It is right."))
    const second = await bench.run(suite, 3)
    // Above the threshold, but still a regression.
    expect(second).to.deep.include({ verdict: "failed", red: ["two"], baseline_run_id: first.id })
    expect(second.score).to.be.greaterThan(80)
    expect(second.cases.find((report) => report.case === "two")?.baseline).to.deep.include({ passed: 3, failed: 0 })
    const third = await bench.run(suite, 3)
    expect(third).to.deep.include({ verdict: "failed", red: ["two"], baseline_run_id: first.id })
    const accepted = await bench.host.api("POST", `/v1/evals/suites/${suite}/runs/${third.id}/accept`, { reason: "The question is gone." })
    expect(accepted.body).to.deep.include({ verdict: "failed" })
    expect(await bench.run(suite, 3)).to.deep.include({ verdict: "passed", red: [], baseline_run_id: third.id })
    // An older run can become the baseline again.
    await bench.host.api("POST", `/v1/evals/suites/${suite}/runs/${first.id}/accept`, { reason: "It was wanted after all." })
    expect(await bench.run(suite, 3)).to.deep.include({ verdict: "failed", red: ["two"], baseline_run_id: first.id })
  })

  it("fail for one wrong answer to a critical case, and for a case that is missing", async () => {
    const suite = await bench.suite("critical", ["!vital", "plain", "other"], { pass_threshold: 10 })
    await bench.run(suite, 2)
    bench.agent.answer(({ input, repeat }) => (input.includes("vital") && repeat === 2 ? "Wrong." : "It is right."))
    expect(await bench.run(suite, 2)).to.deep.include({ verdict: "failed", red: ["vital"], flaky: ["vital"] })
    bench.agent.answer(() => "It is right.")
    await bench.host.api("DELETE", `/v1/evals/suites/${suite}/cases/plain`)
    const run = await bench.run(suite, 2)
    expect(run).to.deep.include({ verdict: "failed", red: ["plain"], score: 100 })
    expect(run.cases.find((report) => report.case === "plain")).to.deep.include({ state: "missing", passed: 0, failed: 0 })
  })

  for (const [what, answer, cause] of [
    ["refuses", () => ({ declines: "I can't do that." }), "model_declined"],
    ["answers garbage", () => "Yes!", "model_malformed"],
    ["cannot tell", () => ({ json: { reasoning: "The expectation is unclear.", verdict: "cannot_judge" } }), "cannot_judge"],
  ] as const) {
    it(`have no verdict where the judge ${what}, and hold that against nobody`, async () => {
      const suite = await bench.suite(`judge-${what.replaceAll(" ", "-")}`, ["one", "two"])
      bench.judge.answer(answer)
      const run = await bench.run(suite, 2)
      expect(run).to.deep.include({ verdict: "no_verdict", score: null, unjudged_percent: 100, red: [] })
      for (const { state, failed, could_not_judge } of run.cases)
        expect([state, failed, could_not_judge]).to.deep.equal(["not_judged", 0, 2])
      const [item] = await bench.answers(suite, run)
      expect(item).to.include({ verdict: "could_not_judge", output: "It is right.", cause })
      // Neither passed nor a baseline for later runs.
      bench.judge.answer(bySight)
      expect((await bench.run(suite, 1)).baseline_run_id).to.equal(null)
    })
  }

  it("leave out answers that could not be judged, while they are few", async () => {
    const names = ["one", "two", "three", "four", "five", "six"]
    const suite = await bench.suite("few", names)
    bench.judge.answer((request) => (request.text.includes("Question six") ? { declines: "No." } : bySight(request)))
    const run = await bench.run(suite, 1)
    expect(run).to.deep.include({ verdict: "passed", score: 100, unjudged_percent: 16.67 })
    expect(run.cases.find((report) => report.case === "six")).to.include({ state: "not_judged", could_not_judge: 1, failed: 0 })
  })

  it("do not fail an agent that is broken or malformed: its answers could not be judged", async () => {
    const suite = await bench.suite("mute", ["refused", "odd", "fine"])
    bench.agent.answer(({ input }) => {
      if (input.includes("refused")) return { status: 403 }
      return input.includes("odd") ? { body: { text: "no output" } } : "It is right."
    })
    const run = await bench.run(suite, 1)
    expect(run).to.deep.include({ verdict: "no_verdict", unjudged_percent: 66.67 })
    const answers = await bench.answers(suite, run)
    expect(Object.fromEntries(answers.map(({ case: slug, verdict, cause }) => [slug, [verdict, cause]]))).to.deep.equal({
      refused: ["could_not_judge", "unexpected_status"],
      odd: ["could_not_judge", "agent_unusable"],
      fine: ["pass", ""],
    })
  })

  it("ask again what was out of reach, and nothing whose answer is kept", async () => {
    const suite = await bench.suite("outage", ["one", "two"])
    let isDown = true
    bench.agent.answer(({ input }) => (isDown && input.includes("two") ? { status: 503 } : "It is right."))
    const { body } = await bench.start(suite, 1)
    await until("both cases being asked", () => new Set(bench.agent.asked.map(({ input }) => input)).size === 2)
    isDown = false
    expect((await bench.finishedByRetries(suite, body.id)).verdict).to.equal("passed")
    expect(bench.agent.asked.filter(({ input }) => input.startsWith("Question one"))).to.have.length(1)
    const keys = bench.agent.asked.filter(({ input }) => input.startsWith("Question two")).map(({ headers }) => headers["idempotency-key"])
    expect(new Set(keys).size).to.equal(1)
  })

  it("end without a verdict where the agent stays out of reach", async () => {
    const suite = await bench.suite("down", ["one"])
    bench.agent.answer(() => ({ status: 503 }))
    const { body } = await bench.start(suite, 1)
    const run = await bench.finishedByRetries(suite, body.id)
    expect(run).to.deep.include({ verdict: "no_verdict", score: null, red: [] })
    expect((await bench.answers(suite, run))[0]).to.deep.include({ verdict: "could_not_judge", cause: "receiver_unavailable" })
    expect(bench.agent.asked.length).to.equal(4)
    expect(new Set(bench.agent.asked.map(({ headers }) => headers["idempotency-key"])).size).to.equal(1)
  })

  it("judge the last passing answers again where the judge changed, before anything is called a regression", async () => {
    const suite = await bench.suite("strict", ["one", "two"], { pass_threshold: 50 })
    bench.agent.answer(({ input }) => (input.includes("one") ? "It is right." : "It is right, more or less."))
    const first = await bench.run(suite, 3)
    expect(first.verdict).to.equal("passed")
    // A stricter judge. It would also have failed the earlier answers.
    bench.judge.answer((request) =>
      request.model === "judge-2" && request.text.includes("more or less")
        ? { json: { reasoning: "Vague.", verdict: "fail" } }
        : bySight(request),
    )
    await bench.host.api("PUT", `/v1/evals/suites/${suite}`, { judge_model: "judge-2" })
    bench.agent.forget()
    const second = await bench.run(suite, 3)
    expect(second.judge).to.equal("judge-2@eval-judge-v1")
    expect(second).to.deep.include({ red: [], score: 50, verdict: "passed" })
    expect(second.cases.find((report) => report.case === "two")).to.deep.include({ state: "green", passed: 0, failed: 3 })
    expect(second.cases.find((report) => report.case === "two")?.baseline).to.deep.include({ passed: 0, failed: 3 })
    // The older answers were judged again without new requests to the agent.
    expect(bench.agent.asked).to.have.length(6)
    const again = (await bench.answers(suite, second)).filter(({ judged_again }) => judged_again !== null)
    expect(again).to.have.length(6)
    // The first run's verdicts stay unchanged.
    expect((await bench.read(suite, first.id)).cases.find((report) => report.case === "two")).to.deep.include({ passed: 3, failed: 0 })
    expect((await bench.answers(suite, first)).every(({ verdict }) => verdict === "pass")).to.equal(true)
  })

  it("judge again by a changed rubric, and take another input for another question", async () => {
    const suite = await bench.suite("reworded", ["one", "two"], { pass_threshold: 10 })
    bench.agent.answer(() => "It is right.")
    await bench.run(suite, 3)
    bench.judge.answer((request) =>
      request.text.includes("<rubric>") ? { json: { reasoning: "By the rubric.", verdict: "fail" } } : bySight(request),
    )
    await bench.host.api("PATCH", `/v1/evals/suites/${suite}/cases/one`, { rubric: "Must name the day." })
    await bench.host.api("PATCH", `/v1/evals/suites/${suite}/cases/two`, { input: "Quite another question" })
    const run = await bench.run(suite, 3)
    expect(run.cases.map(({ case: slug, state }) => [slug, state])).to.deep.equal([
      ["one", "green"],
      ["two", "new"],
    ])
    expect(run.cases[0]?.baseline).to.deep.include({ passed: 0, failed: 3 })
  })

  it("keep the threshold that they were judged by", async () => {
    const suite = await bench.suite("lowered", ["one", "two"], { pass_threshold: 90 })
    bench.agent.answer(({ input }) => (input.includes("one") ? "It is right." : "Wrong."))
    const run = await bench.run(suite, 1)
    expect(run).to.include({ verdict: "failed", score: 50, pass_threshold: 90 })
    await bench.host.api("PUT", `/v1/evals/suites/${suite}`, { pass_threshold: 10 })
    expect(await bench.read(suite, run.id)).to.deep.equal(run)
    expect(await bench.run(suite, 1)).to.include({ verdict: "passed", pass_threshold: 10 })
  })

  it("begin once for one Idempotency-Key", async () => {
    const suite = await bench.suite("once", ["one"])
    const ask = () =>
      bench.host.api<{ id: string }>(
        "POST",
        `/v1/evals/suites/${suite}/runs`,
        { repeats: 1 },
        { headers: { "Idempotency-Key": "one-run" } },
      )
    const first = (await ask()).body
    await bench.finished(suite, first.id)
    expect((await ask()).body.id).to.equal(first.id)
    expect(bench.agent.asked).to.have.length(1)
  })

  it("are refused, and ask nothing, where they cannot be", async () => {
    const reason = async (suite: string, repeats?: number) => {
      const { status, body } = await bench.start(suite, repeats)
      return [status, body.details.reason]
    }
    expect(await reason(await bench.suite("empty", []))).to.deep.equal([400, "suite_empty"])
    expect(await reason(await bench.suite("large", ["one", "two"]), 16)).to.deep.equal([400, "run_too_large"])
    expect(await reason(await bench.suite("agentless", ["one"], { agent_key: "" }))).to.deep.equal([400, "suite_without_agent"])
    const near = await bench.suite("near", ["one"])
    const missing = await bench.host.api<{ details: { reason: string } }>(
      "GET",
      `/v1/evals/suites/${near}/runs/0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04`,
    )
    expect(missing.body.details.reason).to.equal("run_not_found")
    expect(bench.agent.asked).to.deep.equal([])
    expect(bench.judge.asked).to.deep.equal([])
  })

  it("judge the page that the agent made, and fail one that made none", async () => {
    await bench.host.api("POST", "/v1/pages", {
      title: "Made by an agent",
      slug: "made",
      variants: [{ key: "a", html: "<h1>A right headline</h1>" }],
    })
    const suite = await bench.suite("pages", ["named", "linked", "given", "none"], { evaluate_artifact: true, pass_threshold: 10 })
    bench.judge.answer(({ text }) => ({
      json: { reasoning: "Read.", verdict: /<page>[\s\S]*right headline/.test(text) ? "pass" : "fail" },
    }))
    bench.agent.answer(({ input }) => {
      if (input.includes("named")) return { body: { output: "Done.", page: "made" } }
      if (input.includes("linked")) return "See https://pages.example.com/p/default/made for it."
      return input.includes("given") ? "Here:\n```html\n<h1>Another right headline</h1>\n```" : "I would rather not."
    })
    const run = await bench.run(suite, 1)
    expect(run.cases.map(({ case: slug, passed, failed }) => [slug, passed, failed])).to.deep.equal([
      ["given", 1, 0],
      ["linked", 1, 0],
      ["named", 1, 0],
      ["none", 0, 1],
    ])
    const none = (await bench.answers(suite, run)).find((answer) => answer.case === "none")
    expect(none).to.deep.include({ verdict: "fail", artifact: null })
    expect(none?.reason).to.include("names no page")
    expect(bench.judge.asked).to.have.length(3)
  })

  it("cannot be accepted before they are finished", async () => {
    let release = () => {}
    bench.agent.hold(
      new Promise<void>((resolve) => {
        release = resolve
      }),
    )
    const suite = await bench.suite("held", ["one"])
    const { body } = await bench.start(suite, 1)
    try {
      const early = await bench.host.api<{ details: { reason: string } }>("POST", `/v1/evals/suites/${suite}/runs/${body.id}/accept`, {
        reason: "Soon.",
      })
      expect([early.status, early.body.details.reason]).to.deep.equal([400, "run_not_finished"])
    } finally {
      release()
      bench.agent.hold(Promise.resolve())
    }
    await bench.finished(suite, body.id)
  })

  it("run by themselves where the suite says so, and tell where they cannot", async () => {
    const suite = await bench.suite("nightly", ["one"], { cron_enabled: true })
    const runs = async () => (await bench.host.api<{ runs: Run[] }>("GET", `/v1/evals/suites/${suite}/runs`)).body.runs
    await until("the nightly run being completed", async () => {
      if ((await runs()).length === 0) await bench.host.clock.move(15_000)
      return (await runs()).some(({ status }) => status === "completed")
    })
    expect(await runs()).to.satisfy((all: Run[]) => all.every(({ cause, repeats }) => cause === "nightly" && repeats === 3))
    await bench.host.api("PUT", `/v1/evals/suites/${suite}`, { agent_key: "nobody" })
    await until("the refusal being told", async () => {
      await bench.host.clock.move(60_000)
      return (await bench.host.broadcasts("evals")).some(({ event }) => event === "nightly_run_refused")
    })
    await bench.host.api("PUT", `/v1/evals/suites/${suite}`, { cron_enabled: false })
  })

  it("end with a verdict and a cost where an agent names a cost that no answer has", async () => {
    bench.judge.answer(bySight)
    const chat = await bench.suite("dear-chat", ["one", "two"], { agent_key: "chat" })
    const desk = await bench.suite("dear-desk", ["one", "two"])
    for (const wrong of [Number.MAX_VALUE, -Number.MAX_VALUE, -1]) {
      const usage = { prompt_tokens: wrong, completion_tokens: wrong }
      const choices = [{ index: 0, message: { role: "assistant", content: "right" }, finish_reason: "stop" }]
      bench.agent.answer(({ path }) => ({ body: path === "/desk" ? { output: "right", cost_millicents: wrong } : { choices, usage } }))
      for (const suite of [chat, desk]) {
        const run = await bench.run(suite, 2)
        expect(run.verdict, `${suite} ${wrong}: ${run.reason}`).to.equal("passed")
        expect(run.cost_millicents).to.be.within(0, 1_000)
        const answers = await bench.answers(suite, run)
        expect(answers.map((answer) => [answer.verdict, answer.agent_millicents])).to.deep.equal(Array(4).fill(["pass", 0]))
      }
    }
  })

  it("do not fail an agent that does not answer in time", async () => {
    const suite = await bench.suite("mute-too", ["one"], { agent_key: "hasty" })
    bench.agent.answer(() => "silent")
    const run = await bench.run(suite, 1)
    expect(run).to.deep.include({ verdict: "no_verdict", red: [] })
    expect((await bench.answers(suite, run))[0]).to.deep.include({ verdict: "could_not_judge", cause: "timeout", output: "" })
  })
})

it("runs of eval suites have no verdict where the judge is too slow", async () => {
  const judged = (base_url: string) => ({ judge: { base_url, model: "judge-1", prices: { input: 0 } }, timeout_ms: 1_000, max_retries: 0 })
  const bench = await EvalBench.open({ models: judged })
  try {
    const suite = await bench.suite("slow", ["one"])
    bench.judge.answer(() => "silent")
    const run = await bench.run(suite, 1)
    expect(run).to.deep.include({ verdict: "no_verdict", score: null, red: [] })
    expect((await bench.answers(suite, run))[0]).to.deep.include({ verdict: "could_not_judge", cause: "model_timeout" })
  } finally {
    await bench.close()
  }
})
