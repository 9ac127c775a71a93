// Eval suites of an organization. A case has an input for the agent, and criteria for a correct answer.
import { z } from "zod"
import {
  AppError,
  type Deps,
  defineResource,
  type ItemOf,
  Name,
  resultOf,
  Scheduler,
  type Store,
  slugFrom,
  type UnitOfWork,
  Uuid,
} from "#core"
import { nearest } from "#core/engine"
import { Organizations } from "../../platform/organizations/index.ts"
import { Models } from "../models/index.ts"
import { Agents, type StoredAgent } from "../threads/index.ts"
import { judgeOf } from "./judging/judge.ts"
import { nightlyRef } from "./runs/collections.ts"
import type { EvalSettings } from "./settings.ts"

interface NightlyDeps extends Deps<typeof NightlyRuns.inject> {
  readonly settings: EvalSettings
}

/** The nightly runs of suites, in the time zone of their organization. */
export class NightlyRuns {
  static readonly inject = { scheduler: Scheduler, organizations: Organizations }
  readonly #deps: NightlyDeps

  constructor(deps: NightlyDeps) {
    this.#deps = deps
  }

  /** Stages the nightly run. `input`: the new time zone of the organization, if it changes. */
  async schedule(work: UnitOfWork, organization: string, { id }: { readonly id: string }, input?: string): Promise<void> {
    const { scheduler, organizations, settings } = this.#deps
    const timezone = input ?? (await organizations.byId(organization))?.time_zone ?? "UTC"
    scheduler.set(work, { id, job: nightlyRef, payload: { suite_id: id }, organization, cron: settings.nightly_cron, timezone })
  }
}

/** Limit of cases per suite. */
const maxCases = 500
/** Characters. */
export const maxInput = 50_000

export const EvalSuites = defineResource()({
  name: "suite",
  plural: "suites",
  word: "eval suite",
  area: "evals",
  title: "EvalSuite",
  path: "/v1/evals/suites",
  collection: { name: "eval_suites", indexes: [{ fields: ["cron_enabled"] }] },
  access: { read: { scope: "evals:read", role: "guest" }, write: { scope: "evals:write", role: "member" } },
  key: slugFrom("name", { collection: "eval_suite_slugs", column: "suite_id", rename: "suite_slug", label: "eval suite slug" }),
  fields: {
    name: Name,
    description: z.string().trim().max(4_000),
    agent_key: z.string().trim().max(100).describe("Key of the judged agent (GET /v1/agents); a run needs one."),
    judge_model: z
      .string()
      .trim()
      .max(200)
      .describe("Name of a configured model (plugins.settings.models); empty: the one configured for judging."),
    pass_threshold: z.int().min(0).max(100).describe("Percent of the score from which a run passes."),
    evaluate_artifact: z.boolean().describe("Judge the page of the agent beside its answer."),
    cron_enabled: z.boolean().describe("Run each night, in the organization's time zone."),
  },
  defaults: { description: "", agent_key: "", judge_model: "", pass_threshold: 80, evaluate_artifact: false, cron_enabled: false },
  shown: { organization_id: Uuid, created_by_user_id: Uuid.nullable().describe("null for a service principal.") },
  wrapped: "suite",
  columns: ["slug", "name", "agent_key", "pass_threshold", "cron_enabled", "updated_at"],
  examples: [
    {
      given: { agent: "agents.create" },
      input: { name: "Answers of the front desk", agent_key: resultOf("agent.key"), pass_threshold: 90 },
    },
  ],
  change: { pass_threshold: 95, cron_enabled: true },
  verbs: {
    create: { summary: "Create an eval suite: cases that judge an agent.", errors: ["not_found", "failed_precondition"] },
    update: {
      method: "PUT",
      description:
        "Accepts the answer of a read. `suite_slug` renames the suite, and the old slug stays valid. Runs keep their threshold. After a change of the judge, the next run judges the last passing answers again.",
      errors: ["already_exists", "failed_precondition"],
      mcp: { listed: true },
    },
    delete: { summary: "Delete an eval suite with its cases. Its runs expire later." },
  },
  inject: { models: Models, nightly: NightlyRuns, scheduler: Scheduler },
  check: (_suite, { change, organization, deps }) => requireFitting(deps, organization, change),
  start: (_fields, { organization, caller }) => ({ organization_id: organization, created_by_user_id: caller.user?.id ?? null }),
  created: (suite, { work, organization, deps }) => (suite.cron_enabled ? deps.nightly.schedule(work, organization, suite) : undefined),
  async updated(suite, before, { work, organization, deps }) {
    if (suite.cron_enabled === before.cron_enabled) return
    if (suite.cron_enabled) await deps.nightly.schedule(work, organization, suite)
    else deps.scheduler.remove(work, nightlyRef, suite.id)
  },
  async deleted({ id, cron_enabled }, args) {
    for (const evalCase of await casesOf(args.deps.store, args.organization, id)) await EvalCases.changes.remove(args, evalCase, id)
    if (cron_enabled) args.deps.scheduler.remove(args.work, nightlyRef, id)
  },
})

export type StoredSuite = ItemOf<typeof EvalSuites>

/** Suites with a nightly run. */
export function suitesAtNight(store: Store, organization: string): AsyncIterable<StoredSuite> {
  return store.open(EvalSuites.collection, organization).stream({ cron_enabled: true })
}

export const bySuite = { suite: EvalSuites.ref }
export const madeSuite = { suite: "evals.create_suite" }
export const ofThatSuite = { suite: resultOf("suite.suite.slug") }

export const EvalCases = defineResource()({
  name: "case",
  plural: "cases",
  area: "evals",
  title: "EvalCase",
  path: "/v1/evals/suites/{suite}/cases",
  collection: { name: "eval_cases" },
  access: { read: { scope: "evals:read", role: "member" }, write: { scope: "evals:write", role: "member" } },
  key: slugFrom("name"),
  within: {
    field: "suite",
    column: "suite_id",
    schema: bySuite.suite,
    example: { given: madeSuite, input: ofThatSuite },
    require: ({ store }, organization, ref) => EvalSuites.items.require(store, organization, ref),
  },
  fields: {
    name: Name,
    input: z.string().min(1).max(maxInput).describe("Input of the agent."),
    expectation: z.string().trim().min(1).max(10_000).describe("What a right answer does."),
    rubric: z.string().trim().max(10_000).describe("How the judge weighs it; may be empty."),
    critical: z.boolean().describe("One failed answer fails the run, however high the score."),
  },
  defaults: { rubric: "", critical: false },
  shown: {
    source: z
      .discriminatedUnion("kind", [
        z.object({ kind: z.literal("event"), pipeline_slug: z.string(), execution_id: z.string() }),
        z.object({ kind: z.literal("page"), page_id: z.string(), variant_key: z.string() }),
      ])
      .nullable()
      .describe("Origin of a captured case; null for a written one."),
  },
  columns: ["slug", "name", "critical", "expectation", "updated_at"],
  examples: [{ input: { name: "Opening hours", input: "When are you open?", expectation: "Says Monday to Friday, 9 to 17." } }],
  change: { critical: true },
  verbs: {
    create: {
      summary: "Create a case of an eval suite: an input for the agent, and what a right answer does.",
      errors: ["failed_precondition"],
    },
    list: { summary: "List the cases of an eval suite, newest first." },
    get: { summary: "Read a case of an eval suite." },
    update: {
      summary: "Change a case of an eval suite.",
      description: "Runs keep their cases. After a change of expectation or rubric, the last passing answers are judged again.",
    },
    delete: { summary: "Delete a case. The next run shows it as missing until a person accepts a run without it." },
  },
  async check(_case, { before, container, organization, deps }) {
    if (before) return
    const count = await deps.store.open(EvalCases.collection, organization).count({ suite_id: container.id }, { limit: maxCases })
    if (count < maxCases) return
    const message = `The suite "${container.slug}" has ${maxCases} cases, the most of a suite; delete some, or create another suite.`
    throw new AppError("failed_precondition", message, { reason: "suite_full" })
  },
  start: () => ({ source: null }),
})

export type StoredCase = ItemOf<typeof EvalCases>

/** Returns the cases of a suite, by slug. */
export function casesOf(store: Store, organization: string, suite: string): Promise<StoredCase[]> {
  return store.open(EvalCases.collection, organization).find({ suite_id: suite }, { sort: { slug: 1 }, limit: maxCases })
}

interface FittingDeps {
  readonly store: Store
  readonly models: Models
}

/** Returns the agent of a suite. Throws `failed_precondition` if the suite has no agent, or an unknown agent. */
export async function agentOfSuite(
  store: Store,
  organization: string,
  { slug, agent_key }: { readonly slug: string; readonly agent_key: string },
): Promise<StoredAgent> {
  const agent = agent_key === "" ? undefined : await Agents.items.find(store, organization, agent_key)
  if (agent) return agent
  const keys = (await store.open(Agents.collection, organization).find({}, { limit: 200 })).map(({ key }) => key)
  const near = nearest(agent_key, keys)
  const which = agent_key === "" ? "names no agent" : `names the agent "${agent_key}", which the organization does not have`
  const hint = near === undefined ? "POST /v1/agents makes one" : `did you mean "${near}"?`
  const fields = [{ path: "agent_key", message: `"${agent_key}" is not an agent of the organization` }]
  throw new AppError("failed_precondition", `The suite "${slug}" ${which}; ${hint}.`, { reason: "suite_without_agent", fields })
}

/**
 * Checks the fields of a save. Empty fields are allowed until later. Throws `not_found` for an unknown agent,
 * `failed_precondition` for an unknown judge.
 */
async function requireFitting(
  { store, models }: FittingDeps,
  organization: string,
  { agent_key = "", judge_model = "" }: { readonly agent_key?: string; readonly judge_model?: string },
): Promise<void> {
  if (agent_key !== "") await Agents.items.require(store, organization, agent_key)
  if (judge_model !== "") judgeOf(models, judge_model)
}
