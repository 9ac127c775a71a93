// Starts a run: checks all requirements first, then commits the run with its cases and its job.
import { AppError, type Clock, type Ids, type JobQueue, type Live, type Store, timestamp, type UnitOfWork } from "#core"
import type { Models } from "../../models/index.ts"
import { contactOf } from "../../threads/index.ts"
import { estimateOf, judgeOf } from "../judging/judge.ts"
import type { EvalSettings } from "../settings.ts"
import { agentOfSuite, casesOf, type StoredSuite } from "../suites.ts"
import { evalsChannel, RunCaseCollection, RunCollection, type runCauses, runRef, runReference, type StoredRun } from "./collections.ts"

export interface StartDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly queue: JobQueue
  readonly live: Live
  readonly models: Models
  readonly settings: EvalSettings
}

const dayMs = 86_400_000
/** Assumed length of an answer for cost estimates, characters. */
const typicalOutput = "x".repeat(4_000)

export class RunStarts {
  readonly #deps: StartDeps

  constructor(deps: StartDeps) {
    this.#deps = deps
  }

  /** Stages a run. Throws AppError if the suite cannot run. */
  async stage(
    work: UnitOfWork,
    organization: string,
    suite: StoredSuite,
    {
      cause,
      repeats = this.#deps.settings.default_repeats,
    }: { readonly cause: (typeof runCauses)[number]; readonly repeats?: number | undefined },
  ): Promise<StoredRun> {
    const { store, clock, ids, queue, live, models, settings } = this.#deps
    const judge = judgeOf(models, suite.judge_model)
    const agent = await agentOfSuite(store, organization, suite)
    const cases = await casesOf(store, organization, suite.id)
    if (cases.length === 0) {
      const message = `The suite "${suite.slug}" has no cases; POST /v1/evals/suites/${suite.slug}/cases adds one.`
      throw new AppError("failed_precondition", message, { reason: "suite_empty" })
    }
    const cells = cases.length * repeats
    if (cells > settings.max_cells) {
      const message = `${cases.length} cases x ${repeats} repeats are ${cells} answers; a run has at most ${settings.max_cells}`
      throw new AppError("failed_precondition", `${message}. Ask for fewer repeats, or divide the suite.`, { reason: "run_too_large" })
    }
    const estimates = cases.map((runCase) => estimateOf(models, { ...runCase, output: typicalOutput, artifact: null }, suite.judge_model))
    await models.afford(organization, estimates.reduce((sum, cost) => sum + cost, 0) * repeats)
    const baseline = await store
      .open(RunCollection, organization)
      .first({ suite_id: suite.id, is_passing: true }, { sort: { passing_since: -1 } })
    const now = clock.now()
    const run: StoredRun = {
      id: ids.uuid(),
      suite_id: suite.id,
      suite_slug: suite.slug,
      status: "running",
      cause,
      repeats,
      pass_threshold: suite.pass_threshold,
      evaluate_artifact: suite.evaluate_artifact,
      judge_model: suite.judge_model,
      judge,
      agent: contactOf(agent),
      case_count: cases.length,
      baseline_run_id: baseline?.id ?? null,
      verdict: null,
      is_passing: false,
      passing_since: null,
      accepted: null,
      report: null,
      cost_millicents: 0,
      created_at: timestamp(now),
      finished_at: null,
      expires_at: timestamp(now + settings.keep_runs_days * dayMs),
    }
    work.in(RunCollection, organization).insert(run)
    for (const { slug, name, input, expectation, rubric, critical } of cases) {
      const newCase = { id: ids.uuid(), run_id: run.id, slug, name, input, expectation, rubric, critical, expires_at: run.expires_at }
      work.in(RunCaseCollection, organization).insert(newCase)
    }
    queue.enqueue(work, runRef, { run_id: run.id }, { organization, key: suite.id })
    live.stage(work, organization, {
      channel: evalsChannel.name,
      event: "run_started",
      data: { ...runReference(run), cause, repeats, cases: cases.length },
    })
    return run
  }
}
