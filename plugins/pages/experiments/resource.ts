// An experiment as callers see it and give it.
import { z } from "zod"
import { AnyJson, resultOf, SlugOrId, Timestamp, Uuid } from "#core"
import { problemOfName } from "../../data/datasets/index.ts"
import { observationKinds, type StoredExperiment, statuses } from "./collections.ts"
import { Plan, planOf } from "./live/plan.ts"

export const VariantKey = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "lower-case letters, digits, - and _, such as control")

export const Variants = z
  .array(
    z.strictObject({
      key: VariantKey.describe("Name of the variant in this experiment."),
      page_variant: VariantKey.optional().describe("Key of the page's variant that it is; the same when absent."),
    }),
  )
  .max(20)
  .refine((variants) => new Set(variants.map(({ key }) => key)).size === variants.length, "two variants have the same key")
  .transform((variants) => variants.map(({ key, page_variant = key }) => ({ key, page_variant })))

export const Goal = z
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

export const Guardrails = z
  .array(
    z.strictObject({
      metric: z.enum(guardrailMetrics),
      max_increase_percent: z.number().min(0).max(1_000).describe("By how much a variant may be worse than the first one."),
    }),
  )
  .max(guardrailMetrics.length)
  .refine((rails) => new Set(rails.map(({ metric }) => metric)).size === rails.length, "two guardrails have the same metric")

export const Allocation = z
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

export const Hypothesis = z.string().trim().max(2_000)

export const ExperimentResource = z
  .object({
    id: Uuid,
    slug: z.string(),
    name: z.string(),
    hypothesis: z.string(),
    page_id: Uuid.nullable().describe("The page whose variants are compared; null until one is named."),
    variants: z.array(z.object({ key: z.string(), page_variant: z.string() })),
    goal: AnyJson.describe("As it was given."),
    guardrails: z.array(z.object({ metric: z.string(), max_increase_percent: z.number() })),
    plan: Plan,
    allocation: Allocation.nullable().describe("Null: the page's weights stay as they are set."),
    status: z.enum(statuses),
    decision: z
      .object({
        variant_key: z.string().describe("Empty: none was chosen."),
        reason: z.string(),
        decided_by: z.string(),
        decided_at: Timestamp,
      })
      .nullable()
      .describe("Who decided for which variant, and why."),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
    started_at: Timestamp.nullable(),
    ended_at: Timestamp.nullable().describe("When it was decided or archived."),
  })
  .meta({ id: "Experiment" })

export const ObservationResource = z
  .object({
    id: Uuid,
    kind: z.enum(observationKinds),
    experiment_slug: z.string(),
    variant_key: z.string().describe("Empty where it is of no variant alone."),
    other_variant_key: z.string().describe("Of a comparison: the other variant."),
    judge_slug: z
      .string()
      .describe("`human:<user_id>`, `agent:<credential_id>`, `model:<model>@<prompt version>`, `persona:<slug>` or `live:<metric>`."),
    value: z.number().nullable(),
    reason: z.string(),
    details: z.record(z.string(), AnyJson),
    run_id: z.string().nullable().describe("The panel or tournament that it is of."),
    created_at: Timestamp,
  })
  .meta({ id: "Observation" })

export const bySlug = { slug: SlugOrId.describe("Slug or UUID of the experiment.") }

export function resourceOf({ organization_id: _organization, ...experiment }: StoredExperiment) {
  const { allocation = null, ended_at = null } = experiment
  return { ...experiment, goal: experiment.goal as z.infer<ReturnType<typeof z.json>>, plan: planOf(experiment), allocation, ended_at }
}

/** Calls that examples are given: a page, and an experiment on it. */
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
