// Making, listing, reading, changing, starting and archiving experiments.
import { z } from "zod"
import {
  AppError,
  Clock,
  defineList,
  defineOperation,
  Ids,
  Name,
  requireRevision,
  resultOf,
  Scheduler,
  Slug,
  SlugOrId,
  Store,
  slugOf,
  slugTaken,
  timestamp,
  uniqueSlug,
} from "#core"
import { Pages } from "../../pages/index.ts"
import { ExperimentCollection, type StoredExperiment, statuses } from "../collections.ts"
import { Experiments, requireStatus } from "../experiments.ts"
import { Plan } from "../live/plan.ts"
import { keepSchedules } from "../live/ticks.ts"
import {
  Allocation,
  bySlug,
  ExperimentResource,
  Goal,
  Guardrails,
  Hypothesis,
  onThatPage,
  pageOfTwo,
  resourceOf,
  Variants,
} from "../resource.ts"

const PageRef = SlugOrId.describe("Slug or UUID of the page whose variants are compared.")
const madeExperiment = { given: { experiment: "experiments.create" }, input: { slug: resultOf("experiment.slug") } }

export const createExperiment = defineOperation({
  name: "experiments.create",
  summary: "Make an experiment on the variants of a page, as a draft.",
  http: { method: "POST", path: "/v1/experiments" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    name: Name,
    slug: Slug.optional().describe("Made from the name when absent, with -2 where that is taken."),
    hypothesis: Hypothesis.default(""),
    page: PageRef.optional(),
    variants: Variants.optional().describe("The page's own variants when absent."),
    goal: Goal.default({ kind: "lead" }),
    guardrails: Guardrails.default([]),
    plan: Plan.prefault({}).describe("Of the statistics of real visitors."),
    allocation: Allocation.nullable().default(null),
  }),
  output: ExperimentResource,
  errors: ["invalid_argument", "not_found", "already_exists"],
  examples: [
    {
      given: { page: "pages.create" },
      input: { name: "Shorter headline", hypothesis: "A shorter headline makes more people ask for a demo.", page: resultOf("page.slug") },
    },
  ],
  inject: { store: Store, pages: Pages, clock: Clock, ids: Ids },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    requireFloor(input.allocation, input.variants?.length)
    const existing = deps.store.open(ExperimentCollection, organization)
    const isTaken = async (slug: string) => (await existing.first({ slug })) !== undefined
    if (input.slug !== undefined && (await isTaken(input.slug)))
      throw slugTaken(`There is an experiment "${input.slug}" already; take another slug.`)
    const page = input.page === undefined ? undefined : await deps.pages.require(organization, input.page)
    const at = timestamp(deps.clock.now())
    const experiment: StoredExperiment = {
      id: deps.ids.uuid(),
      slug: input.slug ?? (await uniqueSlug(slugOf(input.name, "experiment"), isTaken)),
      name: input.name,
      hypothesis: input.hypothesis,
      page_id: page?.id ?? null,
      variants: input.variants ?? (page?.variants ?? []).map(({ key }) => ({ key, page_variant: key })),
      goal: input.goal as StoredExperiment["goal"],
      guardrails: input.guardrails,
      plan: input.plan,
      allocation: input.allocation,
      status: "draft",
      decision: null,
      revision: 1,
      created_at: at,
      updated_at: at,
      started_at: null,
      ended_at: null,
    }
    work.in(ExperimentCollection, organization).insert(experiment)
    return resourceOf(experiment)
  },
})

export const listExperiments = defineList({
  name: "experiments.list",
  summary: "List the organization's experiments, newest first.",
  path: "/v1/experiments",
  access: { scope: "experiments:read", role: "guest" },
  columns: ["slug", "name", "status", "decision.variant_key", "updated_at"],
  input: { status: z.enum(statuses).optional() },
  collection: ExperimentCollection,
  items: { experiments: ExperimentResource },
  view: resourceOf,
})

export const getExperiment = defineOperation({
  name: "experiments.get",
  summary: "Read an experiment.",
  http: { method: "GET", path: "/v1/experiments/{slug}" },
  access: { scope: "experiments:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: ExperimentResource,
  errors: ["not_found"],
  examples: [madeExperiment],
  inject: { experiments: Experiments },
  handle: async ({ input, caller, deps }) => resourceOf(await deps.experiments.require(caller.organization.id, input.slug)),
})

export const updateExperiment = defineOperation({
  name: "experiments.update",
  summary: "Change an experiment; while it runs, its name, hypothesis, guardrails and allocation only.",
  description:
    "What is measured (page, variants, goal, plan) is settled when the experiment starts: evidence from before a change would not be of the same thing.",
  http: { method: "PATCH", path: "/v1/experiments/{slug}" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    name: Name.optional(),
    hypothesis: Hypothesis.optional(),
    page: PageRef.optional(),
    variants: Variants.optional().describe("Replaces the list."),
    goal: Goal.optional(),
    guardrails: Guardrails.optional().describe("Replaces the list."),
    plan: Plan.optional().describe("Replaces the plan."),
    allocation: Allocation.nullable().optional().describe("Null ends it: the page's weights stay as they are."),
    expected_revision: z.int().optional().describe("Revision that the change was made for; refused when there is a newer one."),
  }),
  output: ExperimentResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [
    {
      ...madeExperiment,
      input: { ...madeExperiment.input, name: "Shortest headline", expected_revision: resultOf("experiment.revision") },
    },
  ],
  inject: { experiments: Experiments, pages: Pages, scheduler: Scheduler },
  async handle({ input, caller, deps, work }) {
    const { slug, expected_revision, page: pageRef, ...given } = input
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, slug)
    requireRevision("experiment", experiment.revision, expected_revision)
    const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const settled = ["variants", "goal", "plan"].some((field) => field in change) || pageRef !== undefined
    requireStatus(experiment, settled ? ["draft"] : ["draft", "running"], settled ? "A change of page, variants, goal or plan" : "A change")
    if (pageRef !== undefined) change["page_id"] = (await deps.pages.require(organization, pageRef)).id
    if (Object.keys(change).length === 0) return resourceOf(experiment)
    requireFloor(given.allocation ?? experiment.allocation, (given.variants ?? experiment.variants).length)
    const changed = deps.experiments.update(work, organization, experiment, change)
    if (given.allocation !== undefined && changed.status === "running") keepSchedules(deps.scheduler, work, organization, changed)
    return resourceOf(changed)
  },
  onConflict: async ({ error }) => error,
})

export const startExperiment = defineOperation({
  name: "experiments.start",
  summary: "Start an experiment: from now on its visitors count, and what it measures is settled.",
  http: { method: "POST", path: "/v1/experiments/{slug}/start" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: ExperimentResource,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: {
        page: pageOfTwo,
        published: { operation: "pages.publish", input: { slug: resultOf("page.slug") } },
        experiment: onThatPage,
      },
      input: { slug: resultOf("experiment.slug") },
    },
  ],
  inject: { experiments: Experiments, pages: Pages, clock: Clock, scheduler: Scheduler },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, input.slug)
    if (experiment.status === "running") return resourceOf(experiment)
    requireStatus(experiment, ["draft"], "Starting")
    const page = experiment.page_id === null ? undefined : await deps.pages.get(organization, experiment.page_id)
    const there = experiment.variants.filter(({ page_variant }) => page?.variants.some(({ key }) => key === page_variant))
    if (there.length < 2 || there.length < experiment.variants.length) {
      const lacking = experiment.variants.filter((variant) => !there.includes(variant)).map(({ page_variant }) => page_variant)
      const which = lacking.length > 0 ? `the page has no variant ${lacking.join(", ")}` : `it has ${there.length}`
      throw new AppError("failed_precondition", `An experiment starts with at least two variants, each one of its page: ${which}.`, {
        reason: "variants_missing",
      })
    }
    if (page?.status !== "published") {
      throw new AppError(
        "failed_precondition",
        `The page "${page?.slug}" is not published; POST /v1/pages/${page?.slug}/publish does that.`,
        {
          reason: "page_not_published",
        },
      )
    }
    requireFloor(experiment.allocation, experiment.variants.length)
    const started = deps.experiments.update(work, organization, experiment, {
      status: "running",
      started_at: timestamp(deps.clock.now()),
    })
    keepSchedules(deps.scheduler, work, organization, started)
    return resourceOf(started)
  },
  onConflict: async ({ error }) => error,
})

export const archiveExperiment = defineOperation({
  name: "experiments.archive",
  summary: "Archive an experiment; its ledger stays.",
  http: { method: "POST", path: "/v1/experiments/{slug}/archive" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(bySlug),
  output: ExperimentResource,
  errors: ["not_found", "aborted"],
  examples: [madeExperiment],
  inject: { experiments: Experiments, clock: Clock, scheduler: Scheduler },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, input.slug)
    if (experiment.status === "archived") return resourceOf(experiment)
    const ended_at = experiment.ended_at ?? timestamp(deps.clock.now())
    const archived = deps.experiments.update(work, organization, experiment, { status: "archived", ended_at })
    keepSchedules(deps.scheduler, work, organization, archived)
    return resourceOf(archived)
  },
  onConflict: async ({ error }) => error,
})

/** Throws `invalid_argument` where the variants' least shares together are more than there is. */
function requireFloor(allocation: StoredExperiment["allocation"], variantCount = 2): void {
  if (!allocation || variantCount < 2 || allocation.floor * variantCount <= 1) return
  const message = `${allocation.floor} for each of ${variantCount} variants is more than all; give at most ${Math.floor(1_000 / variantCount) / 1_000}`
  throw new AppError("invalid_argument", `allocation.floor: ${message}.`, {
    reason: "floor_too_high",
    fields: [{ path: "allocation.floor", message }],
  })
}
