// Starts a tournament between variants. The call returns its result; a repeated call joins the run.
import { z } from "zod"
import { AppError, defineOperation, resultOf, Uuid } from "#core"
import { bySlug, onThatPage, pageOfTwo, requireStatus, VariantKey } from "../experiment.ts"
import { awaitedRun, beginOrJoin, type StoredRun } from "../runs.ts"
import { criteriaOf, judgeSlugOf, kinds } from "../tournament/prompts.ts"
import { playTournament } from "../tournament/tournament.ts"
import { commitRun, newRun, type RunCall, type RunDeps, runTokens } from "./run-start.ts"

const maxPairs = 250
/** Rounds per pair if the caller sets no bound. */
const roundsPerPair = 20

const Result = z.object({
  cluster_method: z.string().describe("How variants that read the same were found; `none` where there are none."),
  converged: z.boolean(),
  iterations: z.int(),
  judge_slug: z.string(),
  persisted: z.int().describe("Comparisons on the ledger, including the skipped pairs."),
  skipped_pairs: z.int().describe("Pairs that could not be judged: refusals, malformed answers, timeouts."),
  comparisons: z.array(
    z.object({
      confidence: z.number(),
      loser_key: z.string(),
      persisted: z.boolean(),
      reasoning: z.string(),
      shown_as_a: z.string(),
      shown_as_b: z.string(),
      winner_key: z.string().describe("Empty if the verdict changed with the seats."),
    }),
  ),
  merges: z.array(z.object({ merged_key: z.string(), method: z.string(), representative_key: z.string(), similarity: z.number() })),
  ranking: z.array(
    z.object({
      comparisons: z.int(),
      key: z.string(),
      rank: z.int().describe("Variants whose intervals overlap share one; a proven leader has its own."),
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

export const runTournament = defineOperation({
  name: "experiments.run_tournament",
  summary: "Rank an experiment's variants by judging them in pairs; takes minutes.",
  description:
    "A language model compares two variants at a time, without knowing which they are, in both seats; only a verdict that survives the swap counts. Progress is told on the live channel `experiments`. It goes on to its end when the caller leaves; a repeat with the same Idempotency-Key then gets the result.",
  http: { method: "POST", path: "/v1/experiments/{slug}/tournament" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  mcp: { listed: true },
  joinsRepeats: () => true,
  input: z.strictObject({
    ...bySlug,
    kind: z.enum(kinds).default("conversion").describe("What is asked of the judge, unless `criteria` says it."),
    criteria: z.string().trim().min(1).max(2_000).optional().describe("The question that the judge answers, in your words."),
    max_comparisons: z
      .int()
      .min(1)
      .max(maxPairs)
      .optional()
      .describe(
        "Most pairs to judge. Each pair is one comparison and costs two calls of the judge. By default the number of variants decides.",
      ),
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
  examples: [{ given: { page: pageOfTwo, experiment: onThatPage }, input: { slug: resultOf("experiment.slug"), max_comparisons: 2 } }],
  inject: runTokens,
  async handle({ input: { slug, ...request }, caller, deps, signal, callId }) {
    const organization = caller.organization.id
    const experiment = await deps.experiments.require(organization, slug)
    const keys = request.variant_keys ?? experiment.variants.map(({ key }) => key)
    const missing = keys.filter((key) => experiment.variants.every((variant) => variant.key !== key))
    const variants = experiment.variants.filter(({ key }) => keys.includes(key))
    const { there, withoutPage } = await deps.views.split(organization, experiment, variants)
    const canonical = JSON.stringify([experiment.id, request])
    const run = await beginOrJoin(deps.store, organization, { id: callId, asked: canonical }, () =>
      begin(deps, { caller, experiment, id: callId, asked: canonical, variants: there }, request),
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

interface TournamentRequest {
  readonly kind: (typeof kinds)[number]
  readonly criteria?: string | undefined
  readonly max_comparisons?: number | undefined
  readonly equal_margin: number
  readonly alpha: number
}

async function begin(
  deps: RunDeps,
  call: RunCall,
  { kind, criteria, max_comparisons, equal_margin, alpha }: TournamentRequest,
): Promise<StoredRun> {
  const { experiment, variants, caller } = call
  requireStatus(experiment, ["draft", "running"], "A tournament")
  const judge_slug = judgeSlugOf(deps.models.language("judge").model)
  if (variants.length < 2) {
    const message = `A tournament needs two variants that are variants of the page; "${experiment.slug}" has ${variants.length} of those that were asked for.`
    throw new AppError("failed_precondition", message, { reason: "variants_missing" })
  }
  const organization = caller.organization.id
  const run = newRun(call, deps.clock.now(), {
    kind: "tournament",
    texts: await deps.views.texts(organization, experiment, variants),
    judge_slug,
    criteria: criteria ?? criteriaOf[kind],
    max_comparisons: 2 * (max_comparisons ?? Math.min(maxPairs, (variants.length * (variants.length - 1) * roundsPerPair) / 2)),
  })
  return await commitRun(deps, call, run, (work) => {
    deps.queue.enqueue(work, playTournament, { run_id: run.id, equal_margin, alpha }, { organization, key: run.id })
  })
}
