// Makes the last passing run comparable. If the judge, the expectation or the rubric changed, its stored answers are judged again
// like those of this run. Only then can a difference count as a regression.
import { derivedUuid, giveWay, timestamp } from "#core"
import { judge, unjudged } from "../judging/judge.ts"
import {
  AnswerCollection,
  RunCaseCollection,
  RunCollection,
  type RunDeps,
  type StoredAnswer,
  type StoredRun,
  type StoredRunCase,
  type Try,
} from "./collections.ts"
import type { CaseAnswers } from "./comparison.ts"

/** An answer of the last passing run, and the same case in this run. */
export interface ToJudgeAgain {
  readonly answer: StoredAnswer
  readonly case: StoredRunCase
}

export class Baseline {
  readonly #deps: RunDeps
  readonly #try: Try
  readonly #stored: Map<string, StoredAnswer>
  #run: StoredRun | undefined
  /** By slug. */
  #cases = new Map<string, StoredRunCase>()
  #answers = new Map<string, StoredAnswer[]>()

  /** `answers`: the run's answers. The baseline adds answers judged again. */
  constructor(deps: RunDeps, now: Try, answers: Map<string, StoredAnswer>) {
    this.#deps = deps
    this.#try = now
    this.#stored = answers
  }

  /** Reads the last passing run. Returns its answers without a stored verdict of this judge. */
  async toJudgeAgain(cases: readonly StoredRunCase[]): Promise<ToJudgeAgain[]> {
    const { organization, run } = this.#try
    const { store } = this.#deps
    if (run.baseline_run_id === null) return []
    this.#run = await store.open(RunCollection, organization).get(run.baseline_run_id)
    if (!this.#run) return []
    const before = await store.open(RunCaseCollection, organization).find({ run_id: this.#run.id }, { limit: this.#run.case_count })
    this.#cases = new Map(before.map((runCase) => [runCase.slug, runCase]))
    for await (const answer of store.open(AnswerCollection, organization).stream({ run_id: this.#run.id })) {
      if (answer.judged_again !== null) continue
      const others = this.#answers.get(answer.case_slug)
      if (others) others.push(answer)
      else this.#answers.set(answer.case_slug, [answer])
    }
    const again: ToJudgeAgain[] = []
    for (const runCase of cases) {
      if (!this.#isSameQuestion(runCase) || this.#isJudgedAlike(runCase)) continue
      await giveWay()
      const remaining = this.#answersTo(runCase).filter((answer) => this.#needsJudge(answer) && !this.#stored.has(this.#idOf(answer)))
      again.push(...remaining.map((answer) => ({ answer, case: runCase })))
    }
    return again
  }

  /** Throws if a retry may succeed. */
  async judgeAgain({ answer, case: runCase }: ToJudgeAgain): Promise<void> {
    const { organization, run, signal, last } = this.#try
    const { models, works, clock } = this.#deps
    const question = {
      input: runCase.input,
      expectation: runCase.expectation,
      rubric: runCase.rubric,
      output: answer.output,
      artifact: answer.artifact,
    }
    const judging = await judge(models, organization, question, { judgeModel: run.judge_model, signal }).catch((error: unknown) => {
      if (!last || signal.aborted) throw error
      return unjudged(error)
    })
    const { verdict, reason, cause, costMillicents } = judging
    const judged: StoredAnswer = {
      ...answer,
      id: this.#idOf(answer),
      run_id: run.id,
      judged_again: answer.id,
      verdict,
      reason,
      cause,
      judge: run.judge,
      agent_millicents: 0,
      judge_millicents: costMillicents,
      judged_at: timestamp(clock.now()),
      expires_at: run.expires_at,
    }
    await works.run((work) => {
      work.in(AnswerCollection, organization).insert(judged, { ifPresent: "keep" })
    })
    this.#stored.set(judged.id, judged)
  }

  /** Returns the baseline: verdicts of the same judge, and all cases of the last passing run. */
  async readAnswers(cases: readonly StoredRunCase[]): Promise<{ baseline: CaseAnswers[]; known: string[] }> {
    const baseline: CaseAnswers[] = []
    for (const runCase of cases) {
      if (!this.#isSameQuestion(runCase)) continue
      await giveWay()
      const isAlike = this.#isJudgedAlike(runCase)
      const verdicts = this.#answersTo(runCase).map((answer) => {
        const counted = isAlike || !this.#needsJudge(answer) ? answer : this.#stored.get(this.#idOf(answer))
        return counted?.verdict ?? "could_not_judge"
      })
      baseline.push({ slug: runCase.slug, critical: runCase.critical, verdicts })
    }
    return { baseline, known: [...this.#cases.keys()] }
  }

  /** Returns true if the question is unchanged. Answers to different questions are not comparable. */
  #isSameQuestion(runCase: StoredRunCase): boolean {
    return this.#cases.get(runCase.slug)?.input === runCase.input && this.#run?.evaluate_artifact === this.#try.run.evaluate_artifact
  }

  #isJudgedAlike(runCase: StoredRunCase): boolean {
    const before = this.#cases.get(runCase.slug)
    return this.#run?.judge === this.#try.run.judge && before?.expectation === runCase.expectation && before.rubric === runCase.rubric
  }

  /** Returns false if the agent did not answer, or created no page to judge. Every judge has the same verdict then. */
  #needsJudge({ output, artifact }: StoredAnswer): boolean {
    return output !== "" && (artifact !== null || !this.#try.run.evaluate_artifact)
  }

  #answersTo({ slug }: StoredRunCase): readonly StoredAnswer[] {
    return this.#answers.get(slug) ?? []
  }

  #idOf(answer: StoredAnswer): string {
    return derivedUuid("eval answer judged again", this.#try.run.id, answer.id)
  }
}
