// An experiment: its fields, and the operations that create, list, read and change it.
import { z } from "zod"
import {
  AppError,
  type Clock,
  defineResource,
  type ItemOf,
  Name,
  resultOf,
  Scheduler,
  SlugOrId,
  type Store,
  slugFrom,
  stageRevision,
  Timestamp,
  token,
  type UnitOfWork,
  Uuid,
} from "#core"
import { problemOfName } from "../../data/datasets/index.ts"
import { Pages } from "../pages/index.ts"
import { type ExperimentStatus, keepSchedules, statuses } from "./collections.ts"
import { Plan, planOf } from "./live/plan.ts"

export const VariantKey = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "lower-case letters, digits, - and _, such as control")

const Variants = z
  .array(
    z.strictObject({
      key: VariantKey.describe("Name of the variant in this experiment."),
      page_variant: VariantKey.optional().describe("Key of the page's variant that it is; the same when absent."),
    }),
  )
  .max(20)
  .refine((variants) => new Set(variants.map(({ key }) => key)).size === variants.length, "two variants have the same key")
  .transform((variants) => variants.map(({ key, page_variant = key }) => ({ key, page_variant })))
  .pipe(z.array(z.object({ key: z.string(), page_variant: z.string() })))

const Goal = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("lead") }),
    z.strictObject({
      kind: z.literal("page_event"),
      event: z.enum(["cta_click", "form_start", "scroll_milestone", "section_view", "video_play"]),
      element: z.string().min(1).max(200).optional().describe("Of cta_click: only clicks on this element, by its data-cta, id or name."),
    }),
    z.strictObject({
      kind: z.literal("dataset"),
      dataset_slug: z.string().min(1).max(100),
      where: z
        .record(
          z
            .string()
            .min(1)
            .max(200)
            .refine((name) => problemOfName(name) === undefined, "not a column's name"),
          z.union([z.string().max(1_000), z.number(), z.boolean()]),
        )
        .default({}),
    }),
  ])
  .describe("What counts as a conversion: a lead, another page event, or a row of a dataset with these values.")

const guardrailMetrics = ["lcp_ms", "inp_ms", "cls", "rage_clicks", "scroll_bails", "form_abandons"] as const

const Guardrails = z
  .array(
    z.strictObject({
      metric: z.enum(guardrailMetrics),
      max_increase_percent: z.number().min(0).max(1_000).describe("By how much a variant may be worse than the first one."),
    }),
  )
  .max(guardrailMetrics.length)
  .refine((rails) => new Set(rails.map(({ metric }) => metric)).size === rails.length, "two guardrails have the same metric")

const Allocation = z
  .strictObject({
    kind: z.literal("thompson"),
    floor: z.number().min(0.01).max(0.5).default(0.1).describe("Least share of each variant; of k variants at most 1/k."),
    prior: z
      .enum(["tournament", "none"])
      .default("none")
      .describe("`tournament`: what the last one found counts as a few conversions do, until there are some."),
    interval: z.enum(["1h", "6h", "1d"]).default("1d").describe("How often the weights change."),
  })
  .describe("Has the page's weights follow how likely each variant is the best, while the experiment runs.")

/** Fields missing from documents of earlier versions. */
export interface Stored {
  ended_at?: string | null
}

export const ExperimentResource = defineResource<Stored>()({
  name: "experiment",
  plural: "experiments",
  title: "Experiment",
  path: "/v1/experiments",
  collection: { name: "page_experiments", times: ["started_at", "ended_at"], indexes: [{ fields: ["status"] }] },
  access: { read: { scope: "experiments:read", role: "guest" }, write: { scope: "experiments:write", role: "member" } },
  key: slugFrom("name"),
  fields: {
    name: Name,
    hypothesis: z.string().trim().max(2_000),
    variants: Variants.describe("The page's own variants unless given. A change replaces the list."),
    goal: Goal,
    guardrails: Guardrails.describe("A change replaces the list."),
    plan: Plan.describe("Statistics of real visitors. A change replaces the plan."),
    allocation: Allocation.nullable().describe("Null: the page's weights stay as they are set."),
  },
  defaults: { hypothesis: "", variants: undefined, goal: { kind: "lead" }, guardrails: [], plan: Plan.parse({}), allocation: null },
  inputs: { page: SlugOrId.optional().describe("Slug or UUID of the page whose variants are compared.") },
  shown: {
    page_id: Uuid.nullable().describe("The page whose variants are compared; null until one is named."),
    status: z.enum(statuses),
    decision: z
      .object({
        variant_key: z.string().describe("Empty: none was chosen."),
        reason: z.string(),
        decided_by: z.string(),
        decided_at: Timestamp,
      })
      .nullable()
      .describe("The decider, the variant and the reason."),
    started_at: Timestamp.nullable(),
    ended_at: Timestamp.nullable().describe("When it was decided or archived."),
  },
  present: (experiment) => ({
    plan: planOf(experiment),
    allocation: experiment.allocation ?? null,
    ended_at: experiment.ended_at ?? null,
  }),
  list: { filters: { status: z.enum(statuses).optional() } },
  columns: ["slug", "name", "status", "decision.variant_key", "updated_at"],
  examples: [
    {
      given: { page: "pages.create" },
      input: { name: "Shorter headline", hypothesis: "A shorter headline makes more people ask for a demo.", page: resultOf("page.slug") },
    },
  ],
  change: { name: "Shortest headline" },
  verbs: {
    create: { summary: "Make an experiment on the variants of a page, as a draft.", errors: ["not_found"] },
    update: {
      summary: "Change an experiment; while it runs, its name, hypothesis, guardrails and allocation only.",
      description:
        "The start settles page, variants, goal and plan: earlier evidence would be of another experiment. A null allocation ends the allocation, and the page's weights stay as they are.",
      errors: ["failed_precondition"],
      isRepeated: true,
    },
  },
  omit: ["delete"],
  inject: { pages: Pages, scheduler: Scheduler },
  check({ allocation, variants }, { before, change }) {
    const isSettled = (["variants", "goal", "plan"] as const).some((field) => change[field] !== undefined)
    if (before) requireChangeable(before, isSettled)
    requireFloor(allocation, (variants as unknown[] | undefined)?.length)
  },
  async start({ page: ref, variants }, { organization, deps }) {
    const page = ref === undefined ? undefined : await deps.pages.require(organization, ref)
    return {
      page_id: page?.id ?? null,
      variants: variants ?? (page?.variants ?? []).map(({ key }) => ({ key, page_variant: key })),
      ...{ status: "draft" as const, decision: null, started_at: null, ended_at: null },
    }
  },
  async alongside(_change, before, { inputs, organization, deps }) {
    if (inputs.page === undefined) return {}
    requireChangeable(before, true)
    return { page_id: (await deps.pages.require(organization, inputs.page)).id }
  },
  updated(experiment, before, { work, organization, deps }) {
    if (experiment.allocation !== before.allocation && experiment.status === "running")
      keepSchedules(deps.scheduler, work, organization, experiment)
  },
})

export type StoredExperiment = ItemOf<typeof ExperimentResource>

export const bySlug = { slug: ExperimentResource.ref }

/** Calls before examples: a page, and an experiment on it. */
export const pageOfTwo = {
  operation: "pages.create",
  input: {
    title: "Two headlines",
    variants: [
      { key: "long", html: "<h1>A long headline about our product</h1>" },
      { key: "short", html: "<h1>Short</h1>" },
    ],
  },
}
export const onThatPage = { operation: "experiments.create", input: { name: "Headlines", page: resultOf("page.slug") } }

function requireChangeable(experiment: Parameters<typeof requireStatus>[0], isSettled: boolean): void {
  requireStatus(
    experiment,
    isSettled ? ["draft"] : ["draft", "running"],
    isSettled ? "A change of page, variants, goal or plan" : "A change",
  )
}

/** Throws `invalid_argument` if the minimum shares of all variants exceed 1 in total. */
export function requireFloor(allocation: { readonly floor: number } | null, variantCount = 2): void {
  if (!allocation || variantCount < 2 || allocation.floor * variantCount <= 1) return
  const message = `${allocation.floor} for each of ${variantCount} variants is more than all; give at most ${Math.floor(1_000 / variantCount) / 1_000}`
  throw new AppError("invalid_argument", `allocation.floor: ${message}.`, {
    reason: "floor_too_high",
    fields: [{ path: "allocation.floor", message }],
  })
}

type ExperimentChange = Partial<Omit<StoredExperiment, "id" | "slug" | "organization_id" | "revision" | "created_at" | "updated_at">>

export interface Experiments {
  /** Finds an experiment by slug or UUID. Throws `not_found`. */
  require(organization: string, slugOrId: string): Promise<StoredExperiment>
  /** Stages a change of the experiment as read. After a concurrent change the commit fails with `aborted`. */
  update(work: UnitOfWork, organization: string, experiment: StoredExperiment, change: ExperimentChange): StoredExperiment
}

/** Finds and changes experiments of an organization. */
export const Experiments = token<Experiments>("Experiments")

export function createExperiments({ store, clock }: { store: Store; clock: Clock }): Experiments {
  return {
    require: (organization, slugOrId) => ExperimentResource.items.require(store, organization, slugOrId),
    update(work, organization, experiment, change) {
      return stageRevision(work.in(ExperimentResource.collection, organization), experiment, change, clock.now())
    },
  }
}

/** Throws `failed_precondition` unless the experiment has one of the statuses. */
export function requireStatus(
  { slug, status }: { readonly slug: string; readonly status: ExperimentStatus },
  allowed: readonly ExperimentStatus[],
  what: string,
): void {
  if (allowed.includes(status)) return
  throw new AppError("failed_precondition", `${what} needs the status ${allowed.join(" or ")}; the experiment "${slug}" is ${status}.`, {
    reason: "wrong_status",
    status,
  })
}

/** Throws `invalid_argument` with the field's name if the experiment lacks the variant. */
export function requireVariant({ slug, variants }: StoredExperiment, key: string, path = "variant_key"): void {
  if (variants.some((variant) => variant.key === key)) return
  const message = `the experiment "${slug}" has no variant "${key}"; it has ${variants.map((variant) => variant.key).join(", ") || "none"}`
  throw new AppError("invalid_argument", `${path}: ${message}.`, { reason: "variant_unknown", fields: [{ path, message }] })
}
