// Decides an experiment. The ledger stores the choice and its reason with the evidence of that moment. One commit contains the
// live evidence, a check that summarizes it, the decision, and the page's weights if the chosen variant gets all visitors.
import { createHash } from "node:crypto"
import {
  AppError,
  type Caller,
  type Clock,
  derivedUuid,
  isPerson,
  type Json,
  type Scheduler,
  type Store,
  timestamp,
  type UnitOfWork,
} from "#core"
import type { Pages } from "../../pages/index.ts"
import { keepSchedules, ObservationCollection, type StoredExperiment, type StoredObservation } from "../collections.ts"
import { type Experiments, requireStatus, requireVariant } from "../experiment.ts"
import { judgeOf, type Ledger, toObservationResource } from "../ledger.ts"
import { isBehind } from "./evidence.ts"
import { allTo, changeWeights } from "./page-weights.ts"
import { stoppingReport } from "./plan.ts"
import type { LiveEvidenceReader } from "./reader.ts"
import { conversionJudge, recordLive } from "./record.ts"
import type { LiveEvidence } from "./resource.ts"

export interface DecideDeps {
  readonly store: Store
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly pages: Pages
  readonly experiments: Experiments
  readonly ledger: Ledger
  readonly live: LiveEvidenceReader
}

export interface Choice {
  /** Undefined for a decision without a variant. */
  readonly variantKey: string | undefined
  readonly rationale: string
  readonly allVisitors: boolean
}

/** Returns an earlier decision with the same choice, or undefined. */
export async function decidedBefore(
  { store }: Pick<DecideDeps, "store">,
  organization: string,
  experiment: StoredExperiment,
  choice: Choice,
) {
  if (experiment.status !== "decided") return undefined
  const observation = await store.open(ObservationCollection, organization).get(decisionId(experiment))
  const isSame =
    observation?.reason === choice.rationale &&
    observation.variant_key === (choice.variantKey ?? "") &&
    observation.details["all_visitors"] === choice.allVisitors
  return isSame ? { experiment, observation } : undefined
}

/** Stages the decision and its evidence. */
export async function decide(
  deps: DecideDeps,
  work: UnitOfWork,
  caller: Caller,
  experiment: StoredExperiment,
  choice: Choice,
  signal: AbortSignal,
) {
  const { clock, experiments, ledger, live } = deps
  const organization = caller.organization.id
  const judge_slug = personJudge(caller)
  requireStatus(experiment, ["running"], "A decision")
  if (choice.variantKey !== undefined) requireVariant(experiment, choice.variantKey)
  const now = clock.now()
  const ended = { ...experiment, ended_at: timestamp(now) }
  const { evidence, counted } = await live.read(organization, ended, { window: "full_weeks", signal })
  const stopping = stoppingReport(experiment, counted)
  const recorded = recordLive(ledger, work, organization, { experiment, live: evidence, occasion: "decision" })
  const check = ledger.add(work, organization, experiment, {
    id: derivedUuid("live decision check", experiment.id),
    kind: "decision_check",
    judge_slug: conversionJudge,
    variant_key: evidence.verdict.leader_key,
    value: evidence.variants.find(({ variant_key }) => variant_key === evidence.verdict.leader_key)?.rate ?? null,
    reason: evidence.verdict.message,
    details: withoutSeries(evidence),
  })
  const weights_changed = choice.allVisitors && (await giveAll(deps, work, organization, { experiment, choice, judge: judge_slug }))
  const observation = ledger.add(work, organization, experiment, {
    id: decisionId(experiment),
    kind: "decision",
    judge_slug,
    variant_key: choice.variantKey ?? "",
    reason: choice.rationale,
    details: {
      all_visitors: choice.allVisitors,
      weights_changed,
      warnings: warningsOf(evidence, choice, now),
      verdict: evidence.verdict as unknown as Json,
      check_id: check.id,
      stopping: stopping as unknown as Json,
      evidence: await digests(deps.store, organization, experiment, [...recorded, check]),
    },
  })
  const decided = experiments.update(work, organization, experiment, {
    status: "decided",
    ended_at: ended.ended_at,
    decision: { variant_key: choice.variantKey ?? "", reason: choice.rationale, decided_by: judge_slug, decided_at: ended.ended_at },
  })
  keepSchedules(deps.scheduler, work, organization, decided)
  return { experiment: decided, observation }
}

function decisionId({ id }: StoredExperiment): string {
  return derivedUuid("decision", id)
}

/** Throws `failed_precondition` for an agent or a service: a person is responsible for a decision. */
function personJudge(caller: Caller): string {
  const judge = isPerson(caller) ? judgeOf(caller) : undefined
  if (judge !== undefined) return judge
  throw new AppError("failed_precondition", "A person decides an experiment: sign in, or use a key of a user by REST or command.", {
    reason: "decision_needs_user",
  })
}

async function giveAll(
  deps: DecideDeps,
  work: UnitOfWork,
  organization: string,
  { experiment, choice, judge }: { experiment: StoredExperiment; choice: Choice; judge: string },
): Promise<boolean> {
  const chosen = experiment.variants.find(({ key }) => key === choice.variantKey)
  if (!chosen) {
    const message = "give_all_visitors: none is chosen; give variant_key as well."
    throw new AppError("invalid_argument", message, { reason: "variant_unknown", fields: [{ path: "variant_key", message: "absent" }] })
  }
  const page = experiment.page_id === null ? undefined : await deps.pages.get(organization, experiment.page_id)
  if (!page?.variants.some(({ key }) => key === chosen.page_variant)) {
    throw new AppError("failed_precondition", `The page has no variant "${chosen.page_variant}" any more, so it cannot get all visitors.`, {
      reason: "variants_missing",
    })
  }
  return changeWeights(deps, work, organization, {
    experiment,
    page,
    weights: allTo(page, chosen.page_variant),
    judge,
    variantKey: chosen.key,
    reason: "The decision gives this variant all visitors of the page.",
  })
}

function warningsOf(evidence: LiveEvidence, { variantKey = "" }: Choice, now: number): string[] {
  const { verdict, sample_ratio, guardrails, analytics_enabled, as_of } = evidence
  const warnings: string[] = []
  if (!analytics_enabled) warnings.push("The page's events are not collected.")
  else if (isBehind(as_of, now)) warnings.push("The copy of the page's events is behind; visitors of the last minutes may be missing.")
  if (sample_ratio.verdict === "alarm") warnings.push("Visitors do not fall to the variants as the weights say.")
  if (variantKey !== "" && verdict.outcome === "cannot_tell") warnings.push(`The live evidence does not tell yet: ${verdict.message}`)
  if (variantKey !== "" && verdict.leader_key !== "" && verdict.leader_key !== variantKey)
    warnings.push(`The live evidence is for ${verdict.leader_key}.`)
  for (const { metric, variants } of guardrails) {
    if (variants.some(({ variant_key, verdict: own }) => variant_key === variantKey && own === "harmed"))
      warnings.push(`${variantKey} harms ${metric}.`)
  }
  return warnings
}

function withoutSeries({ series: _series, ...evidence }: LiveEvidence): Record<string, Json> {
  return evidence as unknown as Record<string, Json>
}

/**
 * Returns for each kind of observation its count and a SHA-256. The hash covers the SHA-256 of each observation's JSON, in order
 * of ids.
 */
async function digests(store: Store, organization: string, { id }: StoredExperiment, staged: readonly StoredObservation[]): Promise<Json> {
  const all = new Map<string, StoredObservation>()
  for await (const observation of store.open(ObservationCollection, organization).stream({ experiment_id: id }, { sort: { id: 1 } }))
    all.set(observation.id, observation)
  for (const observation of staged) all.set(observation.id, observation)
  const kinds = new Map<string, { count: number; hash: ReturnType<typeof createHash> }>()
  for (const [, observation] of [...all].sort(([first], [second]) => (first < second ? -1 : 1))) {
    const kindSummary = kinds.get(observation.kind) ?? { count: 0, hash: createHash("sha256") }
    kindSummary.count++
    kindSummary.hash.update(digestOf(observation))
    kinds.set(observation.kind, kindSummary)
  }
  return [...kinds].map(([kind, { count, hash }]) => ({ kind, count, digest: hash.digest("hex") }))
}

/** Hashes the callers' form with its fields in alphabetical order, so callers can compute the hash. */
function digestOf(observation: StoredObservation): string {
  return createHash("sha256")
    .update(JSON.stringify(ordered(toObservationResource(observation) as unknown as Json)))
    .digest("hex")
}

function ordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, ordered(value[key] as Json)]),
  )
}
