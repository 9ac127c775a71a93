// Intervals compared with published values, and reports from answers.
import { expect } from "chai"
import type { Verdict } from "../../../plugins/agents/evals/judging/judge.ts"
import { type CaseAnswers, reportOf } from "../../../plugins/agents/evals/runs/comparison.ts"
import { fall, wilson } from "../../../plugins/agents/evals/runs/statistics.ts"

const answers = (slug: string, pass: number, fail: number, unjudged = 0, critical = false): CaseAnswers => ({
  slug,
  critical,
  verdicts: [
    ...Array.from({ length: pass }, (): Verdict => "pass"),
    ...Array.from({ length: fail }, (): Verdict => "fail"),
    ...Array.from({ length: unjudged }, (): Verdict => "could_not_judge"),
  ],
})
const rules = { passThreshold: 80, maxUnjudged: 20 }
const none = { baseline: [], known: [] }
const against = (...baseline: CaseAnswers[]) => ({ baseline, known: baseline.map(({ slug }) => slug) })

describe("statistics of evals", () => {
  it("have Wilson's interval as published (Newcombe 1998, table I, method 3)", () => {
    for (const [passed, trials, low, high] of [
      [81, 263, 0.2553, 0.3662],
      [15, 148, 0.0624, 0.1605],
      [0, 20, 0, 0.1611],
      [1, 29, 0.0061, 0.1718],
    ] as const) {
      const interval = wilson(passed, trials)
      expect(interval.low, `${passed} of ${trials}`).to.be.closeTo(low, 0.00005)
      expect(interval.high, `${passed} of ${trials}`).to.be.closeTo(high, 0.00005)
    }
    expect(wilson(0, 0)).to.deep.equal({ low: 0, high: 1 })
    expect(wilson(3, 3).high).to.equal(1)
  })

  it("have Newcombe's interval of a difference as published (1998, table II, method 10)", () => {
    for (const [before, now, low, high] of [
      [[56, 70], [48, 80], 0.0524, 0.3339],
      [[9, 10], [3, 10], 0.1705, 0.809],
      [[10, 10], [0, 20], 0.6791, 1],
      [[10, 10], [0, 10], 0.6075, 1],
    ] as const) {
      const interval = fall({ passed: before[0], trials: before[1] }, { passed: now[0], trials: now[1] })
      expect(interval.low).to.be.closeTo(low, 0.00005)
      expect(interval.high).to.be.closeTo(high, 0.00005)
    }
  })

  it("cover the truth as often as they say, and call steady cases red seldom", () => {
    // Exact, over all outcomes of 10 and 10 repeats with equal truth: the probability of a reported drop.
    const choose = (n: number, k: number): number => (k === 0 ? 1 : (choose(n, k - 1) * (n - k + 1)) / k)
    const chance = (k: number, n: number, p: number) => choose(n, k) * p ** k * (1 - p) ** (n - k)
    for (const p of [0.5, 0.8, 0.95]) {
      let wrong = 0
      for (let a = 0; a <= 10; a++) {
        for (let b = 0; b <= 10; b++)
          if (fall({ passed: a, trials: 10 }, { passed: b, trials: 10 }).low > 0) wrong += chance(a, 10, p) * chance(b, 10, p)
      }
      expect(wrong, `at ${p}`).to.be.lessThan(0.04)
    }
  })
})

describe("the report of a run", () => {
  it("is red only where repeats say so", () => {
    const state = (was: CaseAnswers, is: CaseAnswers) => reportOf([is], against(was), rules).cases[0]?.state
    expect(state(answers("a", 3, 0), answers("a", 0, 3))).to.equal("red")
    expect(state(answers("a", 3, 0), answers("a", 1, 2))).to.equal("green")
    expect(state(answers("a", 1, 0), answers("a", 0, 1))).to.equal("green")
    expect(state(answers("a", 5, 0), answers("a", 1, 4))).to.equal("red")
    expect(state(answers("a", 0, 5), answers("a", 0, 5))).to.equal("green")
    expect(state(answers("a", 1, 4), answers("a", 5, 0))).to.equal("green")
  })

  it("is red for one failed answer of a critical case, with or without a run before", () => {
    const report = reportOf([answers("a", 9, 1, 0, true), answers("b", 10, 0)], none, rules)
    expect(report).to.deep.include({ verdict: "failed", red: ["a"], flaky: ["a"], score: 95 })
    expect(report.cases.map(({ state }) => state)).to.deep.equal(["red", "new"])
  })

  it("counts a missing case as red, and names flaky ones", () => {
    const report = reportOf([answers("a", 2, 1)], against(answers("a", 3, 0), answers("gone", 3, 0)), { ...rules, passThreshold: 50 })
    expect(report).to.deep.include({ verdict: "failed", red: ["gone"], flaky: ["a"] })
    expect(report.cases[1]).to.include({ case: "gone", state: "missing", passed: 0 })
  })

  it("never counts what could not be judged against the agent, and has no verdict where that is too much", () => {
    expect(reportOf([answers("a", 8, 0, 2)], none, rules)).to.include({ verdict: "passed", score: 100, unjudged_percent: 20 })
    expect(reportOf([answers("a", 7, 0, 3)], none, rules)).to.include({ verdict: "no_verdict", score: 100 })
    expect(reportOf([answers("a", 0, 0, 3)], none, rules)).to.include({ verdict: "no_verdict", score: null })
    const critical = [answers("a", 0, 0, 1, true), answers("b", 9, 0)]
    expect(reportOf(critical, none, rules)).to.include({ verdict: "no_verdict" })
    expect(reportOf(critical, none, rules).reason).to.include("a")
  })

  it("passes at the threshold exactly", () => {
    expect(reportOf([answers("a", 4, 1)], none, rules)).to.include({ verdict: "passed", score: 80 })
    expect(reportOf([answers("a", 3, 2)], none, rules)).to.include({ verdict: "failed", score: 60 })
    // Cases have equal weight, independent of their number of judged answers.
    expect(reportOf([answers("a", 1, 0), answers("b", 0, 3)], none, rules).score).to.equal(50)
  })
})
