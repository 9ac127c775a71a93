// Compares a run with the last passing run, case by case, and derives the verdict. Pure: equal answers produce an equal report.
import type { Verdict } from "../judging/judge.ts"
import { type CaseReport, type CaseState, isRed, type RunReport } from "./report.ts"
import { fall, wilson } from "./statistics.ts"

/** Answers to a case. */
export interface CaseAnswers {
  readonly slug: string
  readonly critical: boolean
  readonly verdicts: readonly Verdict[]
}

export interface Rules {
  /** Percent. */
  readonly passThreshold: number
  /** Percent. */
  readonly maxUnjudged: number
}

/**
 * Returns the report of a run. `baseline`: the comparable cases, by the same judge. `known`: the slugs of all cases in the last
 * passing run.
 */
export function reportOf(
  answers: readonly CaseAnswers[],
  { baseline, known }: { readonly baseline: readonly CaseAnswers[]; readonly known: readonly string[] },
  rules: Rules,
): RunReport {
  const before = new Map(baseline.map((entry) => [entry.slug, entry]))
  const here = new Set(answers.map(({ slug }) => slug))
  const missingCases = known.filter((slug) => !here.has(slug)).map(missing)
  const cases = [...answers.map((answer) => compared(answer, before.get(answer.slug))), ...missingCases]
  const judged = cases.filter(({ passed, failed }) => passed + failed > 0)
  const score =
    judged.length === 0 ? null : (100 * judged.reduce((sum, { passed, failed }) => sum + passed / (passed + failed), 0)) / judged.length
  const total = answers.reduce((sum, answer) => sum + answer.verdicts.length, 0)
  const unjudged = cases.reduce((sum, report) => sum + report.could_not_judge, 0)
  const unjudged_percent = total === 0 ? 100 : (100 * unjudged) / total
  return {
    ...judgement(cases, { score, unjudged_percent }, rules),
    score: score === null ? null : rounded(score),
    unjudged_percent: rounded(unjudged_percent),
    cases,
    red: cases.filter(isRed).map((report) => report.case),
    flaky: cases.filter(({ flaky }) => flaky).map((report) => report.case),
  }
}

function judgement(
  cases: readonly CaseReport[],
  { score, unjudged_percent }: { readonly score: number | null; readonly unjudged_percent: number },
  { passThreshold, maxUnjudged }: Rules,
): Pick<RunReport, "verdict" | "reason"> {
  if (score === null) return { verdict: "no_verdict", reason: "No answer could be judged." }
  if (unjudged_percent > maxUnjudged) {
    const reason = `${percent(unjudged_percent)} of the answers could not be judged, more than ${percent(maxUnjudged)}.`
    return { verdict: "no_verdict", reason }
  }
  const red = cases.filter(isRed)
  if (red.length > 0) return { verdict: "failed", reason: `Red: ${red.map((report) => report.case).join(", ")}.` }
  if (score < passThreshold) return { verdict: "failed", reason: `The score is ${percent(score)}, below ${percent(passThreshold)}.` }
  const unseen = cases.filter(({ critical, state }) => critical && state === "not_judged").map((report) => report.case)
  if (unseen.length > 0) return { verdict: "no_verdict", reason: `Critical cases could not be judged: ${unseen.join(", ")}.` }
  return { verdict: "passed", reason: `The score is ${percent(score)}, at least ${percent(passThreshold)}.` }
}

function compared({ slug, critical, verdicts }: CaseAnswers, baseline: CaseAnswers | undefined): CaseReport {
  const { passed, failed, could_not_judge } = countsOf(verdicts)
  const report = {
    case: slug,
    critical,
    flaky: passed > 0 && failed > 0,
    passed,
    failed,
    could_not_judge,
    interval: wilson(passed, passed + failed),
  }
  const was = baseline && countsOf(baseline.verdicts)
  const baselineCounts = was ? { passed: was.passed, failed: was.failed, interval: wilson(was.passed, was.passed + was.failed) } : null
  const withState = (state: CaseState, reason: string): CaseReport => ({ ...report, baseline: baselineCounts, state, reason })
  if (passed + failed === 0) return withState("not_judged", "No answer could be judged.")
  if (critical && failed > 0) return withState("red", `Critical, and ${failed} of ${passed + failed} answers failed.`)
  if (!was) return withState("new", "The last passing run has no answers to it.")
  if (was.passed + was.failed === 0) return withState("not_judged", "The last passing answers could not be judged by this judge.")
  const fell = fall({ passed: was.passed, trials: was.passed + was.failed }, { passed, trials: passed + failed })
  const counts = `${passed} of ${passed + failed} passed, before ${was.passed} of ${was.passed + was.failed}`
  return fell.low > 0 ? withState("red", `It got worse: ${counts}.`) : withState("green", `${counts}.`)
}

function missing(slug: string): CaseReport {
  const none = { passed: 0, failed: 0, could_not_judge: 0, interval: wilson(0, 0), baseline: null, critical: false, flaky: false }
  return { ...none, case: slug, state: "missing", reason: "The last passing run has it; this one does not." }
}

function countsOf(verdicts: readonly Verdict[]): Record<"passed" | "failed" | "could_not_judge", number> {
  const count = (verdict: Verdict) => verdicts.filter((candidate) => candidate === verdict).length
  return { passed: count("pass"), failed: count("fail"), could_not_judge: count("could_not_judge") }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

function percent(value: number): string {
  return `${rounded(value)} %`
}
