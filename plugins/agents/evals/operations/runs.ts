// Operations for runs of a suite: start, read with verdicts, and accept as the new baseline.
import { z } from "zod"
import { AppError, Clock, defineList, defineOperation, Ids, JobQueue, Live, resultOf, Store, Timestamp, timestamp, Uuid } from "#core"
import { Models } from "../../models/index.ts"
import { verdicts } from "../judging/judge.ts"
import {
  AnswerCollection,
  evalsChannel,
  RunCollection,
  runCauses,
  runReference,
  type StoredAnswer,
  type StoredRun,
} from "../runs/collections.ts"
import { CaseReport, type RunReport, runVerdicts } from "../runs/report.ts"
import { RunStarts } from "../runs/start.ts"
import { EvalConfig } from "../settings.ts"
import { bySuite, EvalSuites, madeSuite, ofThatSuite } from "../suites.ts"

const path = "/v1/evals/suites/{suite}/runs"
const byId = { ...bySuite, id: Uuid.describe("UUID of the run.") }
const madeCase = {
  operation: "evals.create_case",
  input: { ...ofThatSuite, name: "Opening hours", input: "When are you open?", expectation: "Says Monday to Friday, 9 to 17." },
}
const runnable = { ...madeSuite, case: madeCase }
const example = { given: { ...runnable, run: { operation: "evals.start_run", input: { ...ofThatSuite, repeats: 1 } } } }
const thatRun = { ...ofThatSuite, id: resultOf("run.id") }

const summary = {
  id: Uuid,
  suite_slug: z.string().describe("The suite's slug when the run began."),
  status: z.enum(["running", "completed"]),
  cause: z.enum(runCauses),
  verdict: z
    .enum(runVerdicts)
    .nullable()
    .describe("`no_verdict`: too many answers could not be judged, or a critical case could not. null until the run is completed."),
  reason: z.string(),
  score: z.number().nullable().describe("Percent; answers that could not be judged are left out."),
  unjudged_percent: z.number().nullable(),
  red: z.array(z.string()).describe("Slugs of cases that got worse, failed though critical, or are missing."),
  flaky: z.array(z.string()).describe("Slugs of cases that passed and failed among their own repeats."),
  repeats: z.int(),
  case_count: z.int(),
  pass_threshold: z.int().describe("Percent, as it was when the run began."),
  evaluate_artifact: z.boolean(),
  agent_key: z.string(),
  judge: z.string().describe("`<model>@<prompt>-v<version>`."),
  baseline_run_id: Uuid.nullable().describe("The last passing run when this one began."),
  accepted: z
    .object({ by: z.string(), reason: z.string(), at: Timestamp })
    .nullable()
    .describe("Who took it as what later runs are held against, though it did not pass."),
  cost_millicents: z.number().describe("Of the agent, as far as it is known, and the judge."),
  created_at: Timestamp,
  finished_at: Timestamp.nullable(),
}
const RunSummary = z.object(summary).meta({ id: "EvalRunSummary" })
const RunResource = z
  .object({ ...summary, cases: z.array(CaseReport).describe("Empty until the run is completed.") })
  .meta({ id: "EvalRun" })

const AnswerResource = z
  .object({
    id: Uuid,
    case: z.string(),
    repeat: z.int(),
    verdict: z.enum(verdicts).nullable().describe("null until it is judged."),
    reason: z.string(),
    cause: z
      .string()
      .describe("Of `could_not_judge`: the reason of the error, or `cannot_judge` where the judge says so; empty otherwise."),
    output: z.string(),
    artifact: z.string().nullable().describe("The text of the page that was judged beside the output."),
    judge: z.string(),
    judged_again: Uuid.nullable().describe("The answer of the last passing run that was judged again for this one."),
    agent_millicents: z.number(),
    judge_millicents: z.number(),
    answered_at: Timestamp,
    judged_at: Timestamp.nullable(),
  })
  .meta({ id: "EvalAnswer" })

const inject = { store: Store }

export const startRun = defineOperation({
  name: "evals.start_run",
  summary: "Run an eval suite: ask its agent every case, have the answers judged, and hold them against the last passing run.",
  description:
    "Answers at once; the run goes on as a job and is told on the live channel `evals`. Refused before anything is asked where no model judges, the suite names no agent, or the day's budget is too small.",
  http: { method: "POST", path },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({
    ...bySuite,
    repeats: z
      .int()
      .min(1)
      .max(20)
      .optional()
      .describe("How often each case is asked; a setting says how often when absent, 3 by default."),
  }),
  output: RunResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "resource_exhausted"],
  examples: [{ given: runnable, input: { ...ofThatSuite, repeats: 1 } }],
  inject: { ...inject, clock: Clock, ids: Ids, queue: JobQueue, live: Live, models: Models, settings: EvalConfig },
  async handle({ input, caller, deps, work }) {
    const suite = await EvalSuites.items.require(deps.store, caller.organization.id, input.suite)
    const run = await new RunStarts(deps).stage(work, caller.organization.id, suite, { cause: "manual", repeats: input.repeats })
    return toRunResource(run)
  },
})

export const listRuns = defineList({
  name: "evals.list_runs",
  summary: "List the runs of an eval suite, newest first.",
  path,
  access: { scope: "evals:read", role: "guest" },
  columns: ["created_at", "id", "status", "verdict", "score", "cause", "reason"],
  input: { ...bySuite, verdict: z.enum(runVerdicts).optional() },
  examples: [{ given: madeSuite, input: ofThatSuite }],
  inject,
  collection: RunCollection,
  where: async ({ suite, ...filter }, { organization, deps }) => ({
    suite_id: (await EvalSuites.items.require(deps.store, organization, suite)).id,
    ...filter,
  }),
  items: { runs: RunSummary },
  view: toRunSummary,
})

export const getRun = defineOperation({
  name: "evals.get_run",
  summary: "Read a run: its verdict, and what became of each case.",
  http: { method: "GET", path: `${path}/{id}` },
  access: { scope: "evals:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(byId),
  output: RunResource,
  errors: ["not_found"],
  examples: [{ ...example, input: thatRun }],
  inject,
  handle: async ({ input, caller, deps }) => toRunResource(await requireRun(deps, caller.organization.id, input)),
})

export const listAnswers = defineList({
  name: "evals.list_answers",
  summary: "Read the answers of a run with their verdicts.",
  path: `${path}/{id}/answers`,
  access: { scope: "evals:read", role: "member" },
  columns: ["case", "repeat", "verdict", "reason", "output"],
  input: { ...byId, case: z.string().min(1).max(100).optional().describe("Slug of a case.") },
  examples: [{ ...example, input: thatRun }],
  inject,
  collection: AnswerCollection,
  where: async ({ case: case_slug, ...of }, { organization, deps }) => ({
    run_id: (await requireRun(deps, organization, of)).id,
    ...(case_slug && { case_slug }),
  }),
  items: { answers: AnswerResource },
  view: toAnswerResource,
})

export const acceptRun = defineOperation({
  name: "evals.accept_run",
  summary: "Take a completed run as what later runs are held against, though it did not pass: its changes are wanted.",
  http: { method: "POST", path: `${path}/{id}/accept` },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ ...byId, reason: z.string().trim().min(1).max(2_000).describe("Why.") }),
  output: RunResource,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [{ ...example, input: { ...thatRun, reason: "The case was removed on purpose." } }],
  inject: { ...inject, clock: Clock, live: Live },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const run = await requireRun(deps, organization, input)
    if (run.status !== "completed") {
      throw new AppError("failed_precondition", `The run ${run.id} is not finished; accept it when it is.`, { reason: "run_not_finished" })
    }
    const by = caller.user?.id ?? caller.credential.id
    const at = timestamp(deps.clock.now())
    const change = { is_passing: true, passing_since: at, accepted: { by, reason: input.reason, at } }
    work.in(RunCollection, organization).update(run.id, { $set: change }, { where: { status: "completed" } })
    deps.live.stage(work, organization, { channel: evalsChannel.name, event: "run_accepted", data: runReference(run) })
    return toRunResource({ ...run, ...change })
  },
})

/** Throws `not_found`. */
async function requireRun(
  { store }: { readonly store: Store },
  organization: string,
  { suite: ref, id }: { readonly suite: string; readonly id: string },
): Promise<StoredRun> {
  const suite = await EvalSuites.items.require(store, organization, ref)
  const run = await store.open(RunCollection, organization).get(id)
  if (run?.suite_id === suite.id) return run
  throw new AppError("not_found", `The suite "${suite.slug}" has no run ${id}; GET /v1/evals/suites/${suite.slug}/runs lists them.`, {
    reason: "run_not_found",
  })
}

function toRunResource(run: StoredRun): z.input<typeof RunResource> {
  return { ...toRunSummary(run), cases: [...(reportOf(run)?.cases ?? [])] }
}

function toRunSummary(run: StoredRun): z.input<typeof RunSummary> {
  const { id, suite_slug, status, cause, verdict, repeats, case_count, pass_threshold, evaluate_artifact, judge } = run
  const { baseline_run_id, accepted, cost_millicents, created_at, finished_at } = run
  const report = reportOf(run)
  return {
    ...{ id, suite_slug, status, cause, verdict, repeats, case_count, pass_threshold, evaluate_artifact, judge },
    ...{ baseline_run_id, accepted, cost_millicents, created_at, finished_at },
    agent_key: run.agent.key,
    reason: report?.reason ?? "",
    score: report?.score ?? null,
    unjudged_percent: report?.unjudged_percent ?? null,
    red: [...(report?.red ?? [])],
    flaky: [...(report?.flaky ?? [])],
  }
}

function reportOf({ report }: StoredRun): RunReport | undefined {
  return report === null ? undefined : (report as unknown as RunReport)
}

function toAnswerResource({ case_slug, run_id: _run, expires_at: _expires, organization_id: _organization, ...answer }: StoredAnswer) {
  return { ...answer, case: case_slug }
}
