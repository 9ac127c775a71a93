// An experiment as callers see it and give it.
import { z } from "zod"
import { resultOf, SlugOrId, Timestamp, Uuid } from "#core"
import { observationKinds, type StoredExperiment, statuses } from "../collections.ts"

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
      where: z.record(z.string().min(1).max(200), z.union([z.string().max(1_000), z.number(), z.boolean()])).default({}),
    }),
  ])
  .describe("What counts as a conversion: a lead, another page event, or a row of a dataset with these values.")

export const guardrailMetrics = ["lcp_ms", "inp_ms", "cls", "rage_clicks", "scroll_bails", "form_abandons"] as const

export const Guardrails = z
  .array(
    z.strictObject({
      metric: z.enum(guardrailMetrics),
      max_increase_percent: z.number().min(0).max(1_000).describe("By how much a variant may be worse than the first one."),
    }),
  )
  .max(guardrailMetrics.length)
  .refine((rails) => new Set(rails.map(({ metric }) => metric)).size === rails.length, "two guardrails have the same metric")

export const Hypothesis = z.string().trim().max(2_000)

export const ExperimentResource = z
  .object({
    id: Uuid,
    slug: z.string(),
    name: z.string(),
    hypothesis: z.string(),
    page_id: Uuid.nullable().describe("The page whose variants are compared; null until one is named."),
    variants: z.array(z.object({ key: z.string(), page_variant: z.string() })),
    goal: z.json().describe("As it was given."),
    guardrails: z.array(z.object({ metric: z.string(), max_increase_percent: z.number() })),
    status: z.enum(statuses),
    decision: z
      .object({ variant_key: z.string(), reason: z.string(), decided_by: z.string(), decided_at: Timestamp })
      .nullable()
      .describe("Who decided for which variant, and why."),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
    started_at: Timestamp.nullable(),
  })
  .meta({ id: "Experiment" })

export const ObservationResource = z
  .object({
    id: Uuid,
    kind: z.enum(observationKinds),
    experiment_slug: z.string(),
    variant_key: z.string().describe("Empty where it is of no variant alone."),
    other_variant_key: z.string().describe("Of a comparison: the other variant."),
    judge_slug: z.string().describe("`human:<user_id>`, `model:<model>@<prompt version>`, `persona:<slug>` or `live:<metric>`."),
    value: z.number().nullable(),
    reason: z.string(),
    details: z.record(z.string(), z.json()),
    run_id: z.string().nullable().describe("The panel or tournament that it is of."),
    created_at: Timestamp,
  })
  .meta({ id: "Observation" })

export const bySlug = { slug: SlugOrId.describe("Slug or UUID of the experiment.") }

export function resourceOf({ organization_id: _organization, ...experiment }: StoredExperiment) {
  return experiment as Omit<StoredExperiment, "organization_id"> & { goal: z.infer<ReturnType<typeof z.json>> }
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
