// A tournament between variants: the call is answered with its end, and a repeat of the call joins it.
import { z } from "zod"
import { AppError, type Caller, Clock, defineOperation, JobQueue, type Json, resultOf, Store, timestamp, UnitsOfWork, Uuid } from "#core"
import { Models } from "../../models/index.ts"
import type { ExperimentVariant, StoredExperiment } from "../collections.ts"
import { cosine } from "../cosine.ts"
import { Experiments, requireStatus } from "../experiments.ts"
import { awaitedRun, beginOrJoin, RunCollection, type StoredRun } from "../runs.ts"
import { mergesOf, shingleSimilarity } from "../tournament/clusters.ts"
import { playTournament } from "../tournament/jobs.ts"
import { criteriaOf, kinds } from "../tournament/prompts.ts"
import { type VariantViews, VariantViewsToken } from "../variant-views.ts"
import { bySlug, onThatPage, pageOfTwo, VariantKey } from "./resource.ts"

const maxComparisons = 500
/** Rounds of each pair, where the caller names no bound. */
const roundsPerPair = 20

const Result = z.object({
  cluster_method: z.string().describe("How variants that read the same were found; `none` where there are none."),
  converged: z.boolean(),
  iterations: z.int(),
  judge_slug: z.string(),
  persisted: z.int().describe("Comparisons on the ledger."),
  skipped_pairs: z.int().describe("Pairs that could not be judged: refusals, malformed answers, timeouts."),
  comparisons: z.array(
    z.object({
      confidence: z.number(),
      loser_key: z.string(),
      persisted: z.boolean(),
      reasoning: z.string(),
      shown_as_a: z.string(),
      shown_as_b: z.string(),
      winner_key: z.string(),
    }),
  ),
  merges: z.array(z.object({ merged_key: z.string(), method: z.string(), representative_key: z.string(), similarity: z.number() })),
  ranking: z.array(
    z.object({
      comparisons: z.int(),
      key: z.string(),
      rank: z.int().describe("Variants whose intervals overlap share one."),
      represents: z.array(z.string()).describe("The variant, and those that were merged into it."),
      score: z.number().describe("Expected win rate against the others."),
      strength: z.number().describe("Log-strength (Bradley-Terry), centred."),
      low: z.number().describe("Interval of the strength, valid however often it is looked at."),
      high: z.number(),
      variant_key: z.string(),
    }),
  ),
  outcome: z.enum(["leader", "equal", "undecided"]),
  leader_key: z.string().describe("Of the outcome `leader`; empty otherwise."),
  comparisons_to_decision: z.int().describe("About how many more it would take; 0 where it is decided."),
  millicents_to_decision: z.int(),
  cost_millicents: z.number(),
  position_effect: z
    .object({ share_of_first: z.number(), se: z.number() })
    .nullable()
    .describe("How often the page that was shown first won; one half without an effect."),
  flip_rate: z.number().nullable().describe("Share of the pairs whose verdict changed with the seats."),
  note: z.string(),
})

interface Injected {
  readonly store: Store
  readonly clock: Clock
  readonly queue: JobQueue
  readonly works: UnitsOfWork
  readonly models: Models
  readonly experiments: Experiments
  readonly views: VariantViews
}

const inject = {
  store: Store,
  clock: Clock,
  queue: JobQueue,
  works: UnitsOfWork,
  models: Models,
  experiments: Experiments,
  views: VariantViewsToken,
}

export const runTournament = defineOperation({
  name: "experiments.run_tournament",
  summary: "Rank an experiment's variants by judging them in pairs; takes minutes.",
  description:
    "A language model compares two variants at a time, without knowing which they are, in both seats; only a verdict that survives the swap counts. Progress is told on the live channel `experiments`. It goes on to its end when the caller leaves; a repeat with the same Idempotency-Key then gets the result.",
  http: { method: "POST", path: "/v1/experiments/{slug}/tournament" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  joinsRepeats: () => true,
  input: z.strictObject({
    ...bySlug,
    kind: z.enum(kinds).default("conversion").describe("What is asked of the judge, unless `criteria` says it."),
    criteria: z.string().trim().min(1).max(2_000).optional().describe("The question that the judge answers, in your words."),
    max_comparisons: z
      .int()
      .min(2)
      .max(maxComparisons)
      .optional()
      .describe("Calls of the judge, two for each pair; by the number of variants when absent."),
    variant_keys: z.array(VariantKey).min(1).max(20).optional().describe("All variants of the experiment when absent."),
    equal_margin: z.number().min(0).max(0.4).default(0).describe("Win rates within this of one half are called equal; 0: never."),
    alpha: z.number().min(0.001).max(0.5).default(0.05).describe("Chance of naming a leader wrongly."),
  }),
  output: z.object({
    experiment_slug: z.string(),
    experiment_run_id: Uuid,
    missing_variant_keys: z.array(z.string()).describe("Keys that the experiment has not."),
    variants_without_page: z.array(z.string()),
    result: Result,
  }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "resource_exhausted", "canceled"],
  examples: [{ given: { page: pageOfTwo, experiment: onThatPage }, input: { slug: resultOf("experiment.slug"), max_comparisons: 4 } }],
  inject,
  async handle({ input: { slug, ...asked }, caller, deps, signal, callId }) {
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, slug)
    const keys = asked.variant_keys ?? experiment.variants.map(({ key }) => key)
    const missing = keys.filter((key) => experiment.variants.every((variant) => variant.key !== key))
    const wanted = experiment.variants.filter(({ key }) => keys.includes(key))
    const { there, withoutPage } = await deps.views.split(organization, experiment, wanted)
    const canonical = JSON.stringify([experiment.id, asked])
    const run = await beginOrJoin(deps.store, organization, { id: callId, asked: canonical }, () =>
      begin(deps, caller, experiment, asked, { id: callId, canonical, there }),
    )
    const { status, result } = await awaitedRun(deps, organization, run.id, { untilMs: Number.POSITIVE_INFINITY, signal })
    if (status !== "completed") throw new AppError("canceled", "The caller left; the tournament goes on.", { reason: "canceled" })
    return {
      experiment_slug: experiment.slug,
      experiment_run_id: run.id,
      missing_variant_keys: missing,
      variants_without_page: withoutPage,
      result: result as unknown as z.input<typeof Result>,
    }
  },
})

interface Asked {
  readonly kind: (typeof kinds)[number]
  readonly criteria?: string | undefined
  readonly max_comparisons?: number | undefined
  readonly equal_margin: number
  readonly alpha: number
}

async function begin(
  deps: Injected,
  caller: Caller,
  experiment: StoredExperiment,
  { kind, criteria, max_comparisons, equal_margin, alpha }: Asked,
  { id, canonical, there }: { readonly id: string; readonly canonical: string; readonly there: ExperimentVariant[] },
): Promise<StoredRun> {
  const organization = caller.organization.id
  requireStatus(experiment, ["draft", "running"], "A tournament")
  const { images } = deps.models.language("judge")
  if (there.length < 2) {
    const message = `A tournament needs two variants that are variants of the page; "${experiment.slug}" has ${there.length} of those that were asked for.`
    throw new AppError("failed_precondition", message, { reason: "variants_missing" })
  }
  const texts = new Map<string, string>()
  for (const variant of there) texts.set(variant.key, await deps.views.text(organization, experiment, variant))
  const merges = await merged(deps.models, organization, texts)
  const playing = there.filter(({ key }) => !merges.some(({ merged_key }) => merged_key === key))
  const run: StoredRun = {
    id,
    kind: "tournament",
    experiment_id: experiment.id,
    asked: canonical,
    variants: playing,
    screenshots: {},
    status: "running",
    result: null,
    created_at: timestamp(deps.clock.now()),
    finished_at: null,
    criteria: criteria ?? criteriaOf[kind],
    max_comparisons: max_comparisons ?? Math.min(maxComparisons, playing.length * (playing.length - 1) * roundsPerPair),
    merges: merges as unknown as Json,
  }
  await deps.works.run(async (work) => {
    if (images) Object.assign(run.screenshots, await deps.views.picture(work, caller, experiment, playing))
    work.in(RunCollection, organization).insert(run)
    deps.queue.enqueue(work, playTournament, { run_id: id, equal_margin, alpha }, { organization, key: id })
  })
  return run
}

/** By embeddings where there is a model of them, else by their words. */
async function merged(models: Models, organization: string, texts: ReadonlyMap<string, string>) {
  if (!models.embedding()) return mergesOf(texts, "shingles", shingleSimilarity)
  const given = [...new Set(texts.values())]
  const { value } = await models.embed(organization, given)
  const vectors = new Map(given.map((text, place) => [text, value[place] ?? []]))
  return mergesOf(texts, "embedding", (one, other) => (one === other ? 1 : cosine(vectors.get(one) ?? [], vectors.get(other) ?? [])))
}
