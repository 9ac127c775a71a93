// Operations on the ledger: list, correct by a further entry, and add feedback of people.
import { z } from "zod"
import { AnyJson, AppError, type Caller, defineList, defineOperation, resultOf, Store, Timestamp, Uuid } from "#core"
import { Buckets } from "../../../data/buckets/index.ts"
import { ObservationCollection, observationKinds } from "../collections.ts"
import { bySlug, Experiments, requireVariant, VariantKey } from "../experiment.ts"
import { judgeOf, Ledger, toObservationResource } from "../ledger.ts"

/** An observation of an experiment for callers. */
const ObservationResource = z
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

const Reason = z.string().min(1).max(10_000)

export const listObservations = defineList({
  name: "experiments.list_observations",
  summary: "Read an experiment's ledger, newest first.",
  path: "/v1/experiments/{slug}/observations",
  access: { scope: "experiments:read", role: "guest" },
  columns: ["created_at", "kind", "variant_key", "other_variant_key", "judge_slug", "value", "reason"],
  input: {
    ...bySlug,
    kind: z.enum(observationKinds).optional(),
    variant_key: VariantKey.optional(),
    judge_slug: z.string().min(1).max(300).optional(),
    run_id: z.string().min(1).max(100).optional(),
  },
  examples: [{ given: { experiment: "experiments.create" }, input: { slug: resultOf("experiment.slug") } }],
  inject: { experiments: Experiments },
  collection: ObservationCollection,
  where: async ({ slug, ...filter }, { organization, deps }) => ({
    experiment_id: (await deps.experiments.require(organization, slug)).id,
    ...filter,
  }),
  // Ids of runs' observations are derived, so they have no order.
  sort: { created_at: -1 },
  items: { observations: ObservationResource },
  view: toObservationResource,
})

export const correctObservation = defineOperation({
  name: "experiments.correct_observation",
  summary: "Correct an observation: a new one of the same kind, which names the old. Neither is ever changed.",
  http: { method: "POST", path: "/v1/experiments/{slug}/observations/{id}/corrections" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...bySlug,
    id: Uuid,
    reason: Reason.describe("What was wrong."),
    value: z.number().nullable().optional().describe("The right value; null, or absent: the observation is not to be counted."),
  }),
  output: ObservationResource,
  errors: ["not_found", "failed_precondition"],
  examples: [
    {
      given: {
        experiment: {
          operation: "experiments.create",
          input: { name: "To be corrected", variants: [{ key: "control" }, { key: "other" }] },
        },
        feedback: {
          operation: "page_feedback.record",
          input: { items: [{ experiment_slug: resultOf("experiment.slug"), variant_key: "control", feedback: "The button is hidden." }] },
        },
      },
      input: { slug: resultOf("experiment.slug"), id: resultOf("feedback.items.0.observation_id"), reason: "It was another page." },
    },
  ],
  inject: { store: Store, experiments: Experiments, ledger: Ledger },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, input.slug)
    const old = await deps.store.open(ObservationCollection, organization).get(input.id)
    if (old?.experiment_id !== experiment.id) {
      throw new AppError("not_found", `The experiment "${experiment.slug}" has no observation ${input.id}.`, {
        reason: "observation_not_found",
      })
    }
    const { kind, variant_key, other_variant_key, run_id } = old
    const details = { corrects: old.id, counts: input.value !== undefined && input.value !== null }
    const corrected = {
      kind,
      variant_key,
      other_variant_key,
      run_id,
      judge_slug: requireJudge(caller),
      reason: input.reason,
      details,
    }
    return toObservationResource(deps.ledger.add(work, organization, experiment, { ...corrected, value: input.value ?? null }))
  },
})

const FeedbackItem = z.strictObject({
  experiment_slug: bySlug.slug,
  variant_key: VariantKey,
  feedback: z.string().min(1).max(10_000).describe("Kept word for word."),
  image_bucket_key: z.string().max(1_000).default("").describe("A picture of what is meant, in the organization's bucket; empty: none."),
})

export const recordFeedback = defineOperation({
  name: "page_feedback.record",
  summary: "Record what a person says of page variants: a `defect` on the ledger for each item, all of them or none.",
  http: { method: "POST", path: "/v1/page-feedback" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  mcp: { listed: true },
  input: z.strictObject({ items: z.array(FeedbackItem).min(1).max(100) }),
  output: z.object({
    items: z
      .array(z.object({ experiment_slug: z.string(), observation_id: Uuid, variant_key: z.string() }))
      .describe("In the order given."),
  }),
  errors: ["invalid_argument", "not_found", "failed_precondition"],
  examples: [
    {
      given: {
        experiment: {
          operation: "experiments.create",
          input: { name: "With feedback", variants: [{ key: "control" }, { key: "other" }] },
        },
      },
      input: { items: [{ experiment_slug: resultOf("experiment.slug"), variant_key: "control", feedback: "The form asks for too much." }] },
    },
  ],
  inject: { experiments: Experiments, ledger: Ledger, buckets: Buckets },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const judge_slug = requireJudge(caller)
    const items = []
    for (const [place, { experiment_slug, variant_key, feedback, image_bucket_key }] of input.items.entries()) {
      const experiment = await deps.experiments.require(organization, experiment_slug)
      requireVariant(experiment, variant_key, `items.${place}.variant_key`)
      if (image_bucket_key !== "") await requireImage(deps.buckets, organization, image_bucket_key, `items.${place}.image_bucket_key`)
      const details = image_bucket_key === "" ? {} : { image_bucket_key }
      const { id } = deps.ledger.add(work, organization, experiment, { kind: "defect", variant_key, judge_slug, reason: feedback, details })
      items.push({ experiment_slug: experiment.slug, observation_id: id, variant_key })
    }
    return { items }
  },
})

/** Throws `failed_precondition` for a service. */
function requireJudge(caller: Caller): string {
  const judge = judgeOf(caller)
  if (judge !== undefined) return judge
  throw new AppError("failed_precondition", "Feedback needs a person or an agent: sign in, or use a key of a user.", {
    reason: "feedback_needs_user",
  })
}

async function requireImage(buckets: Buckets, organization: string, key: string, path: string): Promise<void> {
  const object = await buckets.open(organization).get(key, path)
  await object?.chunks[Symbol.asyncIterator]().return?.()
  if (object?.media_type.startsWith("image/")) return
  const message = `the organization has no image "${key.slice(0, 200)}"`
  throw new AppError("invalid_argument", `${path}: ${message}.`, { reason: "image_not_found", fields: [{ path, message }] })
}
