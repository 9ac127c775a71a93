// Plays a run in a single job: asks each case as often as the run repeats. Each answer is committed before its judgement, and
// each verdict in another commit. A crash therefore repeats no call with a stored answer.
import { AppError, allDone, derivedUuid, giveWay, type Json, timestamp, type UnitOfWork } from "#core"
import { type Pages, pageText } from "../../../pages/pages/index.ts"
import type { AgentAnswer } from "../../threads/index.ts"
import { judge, unjudged, type Verdict } from "../judging/judge.ts"
import { Baseline } from "./baseline.ts"
import {
  AnswerCollection,
  evalsChannel,
  RunCaseCollection,
  RunCollection,
  type RunDeps,
  runReference,
  type StoredAnswer,
  type StoredRun,
  type StoredRunCase,
  type Try,
} from "./collections.ts"
import { type CaseAnswers, reportOf } from "./comparison.ts"
import type { RunReport } from "./report.ts"

export class Runs {
  readonly #deps: RunDeps

  constructor(deps: RunDeps) {
    this.#deps = deps
  }

  /** Plays the run to its end and stages the result. Throws if a retry may get missing answers. */
  async play(work: UnitOfWork, organization: string, runId: string, source: Omit<Try, "organization" | "run">): Promise<void> {
    const { store, settings } = this.#deps
    const run = await store.open(RunCollection, organization).get(runId)
    if (run?.status !== "running") return
    const now: Try = { ...source, organization, run }
    const cases = await store.open(RunCaseCollection, organization).find({ run_id: run.id }, { sort: { slug: 1 }, limit: run.case_count })
    const stored = new Map<string, StoredAnswer>()
    for await (const answer of store.open(AnswerCollection, organization).stream({ run_id: run.id })) stored.set(answer.id, answer)
    const baseline = new Baseline(this.#deps, now, stored)
    const again = await baseline.toJudgeAgain(cases)
    const cells = cases.flatMap((runCase) => Array.from({ length: run.repeats }, (_, place) => ({ case: runCase, repeat: place + 1 })))
    await this.#inTurns(now, [
      ...cells.map((cell) => () => this.#cell(now, cell, stored)),
      ...again.map((entry) => () => baseline.judgeAgain(entry)),
    ])
    const answers = answersOf(cases, stored)
    const rules = { passThreshold: run.pass_threshold, maxUnjudged: settings.max_unjudged_percent }
    const report = reportOf(answers, await baseline.readAnswers(cases), rules)
    const cost = [...stored.values()].reduce((sum, { agent_millicents, judge_millicents }) => sum + agent_millicents + judge_millicents, 0)
    this.#finish(work, organization, run, report, cost)
  }

  /** Ends an unfinished run without a verdict. */
  async giveUp(work: UnitOfWork, organization: string, runId: string, error: unknown): Promise<void> {
    const run = await this.#deps.store.open(RunCollection, organization).get(runId)
    if (run?.status !== "running") return
    const reason = `The run could not be finished: ${unjudged(error).reason}`
    const report = { verdict: "no_verdict", reason, score: null, unjudged_percent: 100, cases: [], red: [], flaky: [] } satisfies RunReport
    this.#finish(work, organization, run, report, 0)
  }

  #finish(work: UnitOfWork, organization: string, run: StoredRun, report: RunReport, cost_millicents: number): void {
    const { verdict, reason, score, red, flaky } = report
    const at = timestamp(this.#deps.clock.now())
    const $set = {
      status: "completed",
      verdict,
      is_passing: verdict === "passed",
      passing_since: verdict === "passed" ? at : null,
      report: report as unknown as Json,
      cost_millicents,
      finished_at: at,
    }
    work.in(RunCollection, organization).update(run.id, { $set }, { where: { status: "running" } })
    const data = { ...runReference(run), verdict, reason, score, red: [...red], flaky: [...flaky] }
    this.#deps.live.stage(work, organization, { channel: evalsChannel.name, event: "run_finished", data })
  }

  /** Runs up to `answers_at_once` tasks in parallel. A retryable failure does not stop the other tasks. It is thrown at the end. */
  async #inTurns({ run, organization, signal }: Try, tasks: readonly (() => Promise<void>)[]): Promise<void> {
    const remaining = [...tasks]
    let completed = 0
    let failure: unknown
    const worker = async () => {
      for (let task = remaining.shift(); task && !signal.aborted; task = remaining.shift()) {
        try {
          await giveWay()
          await task()
          this.#deps.live.emit(organization, {
            channel: evalsChannel.name,
            event: "run_progress",
            data: { ...runReference(run), done: ++completed, total: tasks.length },
          })
        } catch (error) {
          failure ??= error
        }
      }
    }
    await allDone(Array.from({ length: Math.min(this.#deps.settings.answers_at_once, tasks.length) }, worker))
    signal.throwIfAborted()
    if (failure !== undefined) throw failure
  }

  async #cell(now: Try, { case: runCase, repeat }: Cell, answers: Map<string, StoredAnswer>): Promise<void> {
    const id = answerId(now.run.id, runCase.slug, repeat)
    const answered = answers.get(id) ?? (await this.#ask(now, runCase, repeat, answers))
    if (answered.verdict !== null) return
    const { costMillicents, ...judging } = await this.#judged(now, runCase, answered)
    await this.#keepVerdict(now, answered, { ...judging, judge_millicents: costMillicents }, answers)
  }

  async #judged(now: Try, { input, expectation, rubric }: StoredRunCase, { output, artifact }: StoredAnswer) {
    const { run, organization, signal, last } = now
    const question = { input, expectation, rubric, output, artifact }
    try {
      return await judge(this.#deps.models, organization, question, { judgeModel: run.judge_model, signal })
    } catch (error) {
      if (!last || signal.aborted) throw error
      return unjudged(error)
    }
  }

  /** Asks the agent and stores the answer. An agent without an answer results in `could_not_judge`. */
  async #ask(now: Try, runCase: StoredRunCase, repeat: number, answers: Map<string, StoredAnswer>): Promise<StoredAnswer> {
    return await this.#keepAnswer(now, runCase, repeat, await this.#answered(now, runCase, repeat), answers)
  }

  async #answered(now: Try, runCase: StoredRunCase, repeat: number): Promise<Partial<StoredAnswer>> {
    const { run, organization, signal, last } = now
    const body = { input: runCase.input, run_id: run.id, case: runCase.slug, repeat }
    const turns = [{ role: "user" as const, content: runCase.input }]
    const question = { id: answerId(run.id, runCase.slug, repeat), agent: run.agent, body, turns, signal }
    try {
      const answer = await this.#deps.agents.ask(organization, question)
      if (answer === "accepted") throw new Error("An agent that may not call back was taken to.")
      return { ...(await this.#fieldsOf(now, answer)), agent_millicents: answer.costMillicents }
    } catch (error) {
      const isOver = error instanceof AppError && error.code !== "unavailable"
      if (signal.aborted || (!isOver && !last)) throw error
      const { verdict, reason, cause } = unjudged(error)
      return { verdict, reason, cause }
    }
  }

  /** Returns the answer with its artifact. If a page was required and is missing, the answer fails regardless of its text. */
  async #fieldsOf({ run, organization }: Try, answer: AgentAnswer): Promise<Partial<StoredAnswer>> {
    if (!run.evaluate_artifact) return { output: answer.output }
    const owner = await this.#deps.organizations.byId(organization)
    const artifact = await artifactOf(this.#deps.pages, { id: organization, slug: owner?.slug ?? "" }, answer)
    if (artifact !== undefined) return { output: answer.output, artifact }
    const reason = "The answer names no page of the organization and holds no HTML document."
    return { output: answer.output, verdict: "fail", reason }
  }

  async #keepAnswer(
    { run, organization }: Try,
    { slug }: StoredRunCase,
    repeat: number,
    fields: Partial<StoredAnswer>,
    answers: Map<string, StoredAnswer>,
  ): Promise<StoredAnswer> {
    const at = timestamp(this.#deps.clock.now())
    const answer: StoredAnswer = {
      id: answerId(run.id, slug, repeat),
      run_id: run.id,
      case_slug: slug,
      repeat,
      judged_again: null,
      output: "",
      artifact: null,
      verdict: null,
      reason: "",
      cause: "",
      judge: run.judge,
      agent_millicents: 0,
      judge_millicents: 0,
      answered_at: at,
      judged_at: fields.verdict ? at : null,
      expires_at: run.expires_at,
      ...fields,
    }
    await this.#deps.works.run((work) => {
      work.in(AnswerCollection, organization).insert(answer)
    })
    answers.set(answer.id, answer)
    return answer
  }

  async #keepVerdict(
    { organization }: Try,
    answer: StoredAnswer,
    judging: Pick<StoredAnswer, "reason" | "cause" | "judge_millicents"> & { readonly verdict: Verdict },
    answers: Map<string, StoredAnswer>,
  ): Promise<void> {
    const $set = { ...judging, judged_at: timestamp(this.#deps.clock.now()) }
    await this.#deps.works.run((work) => {
      work.in(AnswerCollection, organization).update(answer.id, { $set }, { where: { verdict: null } })
    })
    answers.set(answer.id, { ...answer, ...$set })
  }
}

interface Cell {
  readonly case: StoredRunCase
  readonly repeat: number
}

/** Returns verdicts of the run's own answers by case. */
function answersOf(cases: readonly StoredRunCase[], answers: ReadonlyMap<string, StoredAnswer>): CaseAnswers[] {
  const byCase = Map.groupBy(answers.values(), ({ case_slug }) => case_slug)
  return cases.map(({ slug, critical }) => {
    const own = (byCase.get(slug) ?? []).filter(({ judged_again }) => judged_again === null)
    return { slug, critical, verdicts: own.map(({ verdict }) => verdict ?? "could_not_judge") }
  })
}

function answerId(run: string, slug: string, repeat: number): string {
  return derivedUuid("eval answer", run, slug, String(repeat))
}

// Finds the page created by an agent, and returns its visible text. The answer names a page of the organization, or contains an
// HTML document.

/** Returns undefined if the answer names no page of the organization and contains no document. */
async function artifactOf(
  pages: Pages,
  organization: { readonly id: string; readonly slug: string },
  answer: AgentAnswer,
): Promise<string | undefined> {
  const pageLink = answer.page ?? linkedPage(answer.output, organization.slug)
  const page = pageLink === undefined ? undefined : await pages.get(organization.id, pageLink)
  const html = page?.variants[0]?.html ?? answer.html ?? fencedDocument(answer.output)
  return html === undefined ? undefined : pageText(html)
}

/** Returns the slug of the text's last link to a page of the organization (`/p/{organization}/{page}`). */
function linkedPage(text: string, organization: string): string | undefined {
  const links = [...text.matchAll(/\/p\/([a-z0-9-]{1,100})\/([a-z0-9-]{1,100})/g)].filter(([, owner]) => owner === organization)
  return links.at(-1)?.[2]
}

/** Returns the last fenced HTML of a text, or the whole text if it is a document. */
function fencedDocument(text: string): string | undefined {
  if (/^\s*<(?:!doctype|html)\b/i.test(text)) return text
  const parts = text.split("```")
  for (let at = parts.length - (parts.length % 2 === 0 ? 1 : 2); at > 0; at -= 2) {
    const [, body] = /^html\s*\n([\s\S]*)$/i.exec(parts[at] ?? "") ?? []
    if (body !== undefined) return body
  }
  return undefined
}
