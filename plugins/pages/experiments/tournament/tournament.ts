// A tournament: pairs of variants are judged in both seats, the most informative pair first, until the leader is proven or a
// limit is reached. It runs as one job and reads its earlier rounds from the ledger, so a crash repeats no stored verdict.

import { z } from "zod"
import { Clock, type Deps, defineJob, derivedUuid, type Json, Live, Store, token, type UnitOfWork, UnitsOfWork } from "#core"
import { Models } from "../../../agents/models/index.ts"
import { ObservationCollection, type StoredExperiment } from "../collections.ts"
import { Experiments } from "../experiment.ts"
import { describeFailure, experimentsChannel, Ledger } from "../ledger.ts"
import { finished, RunCollection, requireRun, type StoredRun } from "../runs.ts"
import type { Comparison } from "../statistics/ranking/comparisons.ts"
import { type FittedStrengths, fitStrengths } from "../statistics/ranking/fit.ts"
import { type VariantView, VariantViews, viewDetails } from "../variant-views.ts"
import { type ChosenPair, choosePairs, pairId } from "./choose.ts"
import { foundMerges, type Merge } from "./clusters.ts"
import { judgePrompt, judgeSlugOf, pairPrompt, Verdict } from "./prompts.ts"
import { judgedOf, type Round, roundOf, type Seat, type TournamentResult, tournamentResult } from "./result.ts"
import { currentStanding, type StopRule } from "./stop.ts"

export type TournamentDeps = Deps<typeof Tournament.inject>

/** Pairs judged in parallel, each in both seats. */
const pairsAtOnce = 4
const maxAnswerTokens = 1_200
/** A tournament ends after this many consecutive failed rounds. */
const maxFailures = 6
/** Attempts per seat; a malformed answer may be followed by a well-formed one. */
const maxAttempts = 3

/** State of one run. */
interface Play {
  readonly organization: string
  readonly run: StoredRun
  readonly experiment: StoredExperiment
  readonly views: ReadonlyMap<string, VariantView>
  readonly rounds: Round[]
  readonly signal: AbortSignal
}

export class Tournament {
  static readonly inject = {
    store: Store,
    clock: Clock,
    works: UnitsOfWork,
    live: Live,
    models: Models,
    experiments: Experiments,
    ledger: Ledger,
    views: VariantViews,
  }
  readonly #deps: TournamentDeps

  constructor(deps: TournamentDeps) {
    this.#deps = deps
  }

  /** Plays the tournament and stages its end. Throws Postponed while variants are being rendered. */
  async play(work: UnitOfWork, organization: string, runId: string, rule: StopRule, signal: AbortSignal): Promise<void> {
    const { store, experiments, models } = this.#deps
    const started = await requireRun(store, organization, runId)
    if (started.status === "completed") return
    const experiment = await experiments.require(organization, started.experiment_id)
    const views = new Map<string, VariantView>()
    for (const { key } of started.variants) views.set(key, await this.#deps.views.of(organization, started, key, models.language("judge")))
    const run = await this.#withMerges(organization, started, views, signal)
    const playing: Play = { organization, run, experiment, views, rounds: await this.#played(organization, run), signal }
    this.#finish(work, playing, rule, await this.#playOn(playing, rule))
  }

  /** Ends a permanently failed run with its judged rounds. */
  async failed(work: UnitOfWork, organization: string, runId: string, rule: StopRule, error: unknown): Promise<void> {
    const { store, experiments } = this.#deps
    const run = await store.open(RunCollection, organization).get(runId)
    if (run?.status !== "running") return
    const experiment = await experiments.require(organization, run.experiment_id)
    const rounds = await this.#played(organization, run)
    const playing = { organization, run, experiment, views: new Map(), rounds, signal: new AbortController().signal }
    this.#finish(work, playing, rule, `It ended before its time: ${describeFailure(error).message}`)
  }

  #finish(work: UnitOfWork, play: Play, rule: StopRule, stopped: string): void {
    const { organization, run, experiment, rounds } = play
    const judge_slug = run.judge_slug ?? ""
    const result = tournamentResult({ merges: mergesIn(run), rounds, fitted: this.#fitted(play), rule, judge_slug, stopped })
    this.#deps.ledger.add(work, organization, experiment, {
      id: derivedUuid("tournament end", run.id),
      kind: "decision_check",
      variant_key: result.leader_key,
      judge_slug,
      value: result.ranking[0]?.score ?? null,
      reason: run.criteria ?? "",
      details: endOf(run, rule, result),
      run_id: run.id,
    })
    const change = finished(result as unknown as Json, this.#deps.clock.now())
    work.in(RunCollection, organization).update(run.id, change, { where: { status: "running" } })
    this.#deps.live.stage(work, organization, this.#news(play, "finished"))
  }

  /** Merges variants with the same text. Stored before the first round, so a retry plays the same tournament. */
  async #withMerges(
    organization: string,
    run: StoredRun,
    views: ReadonlyMap<string, VariantView>,
    signal: AbortSignal,
  ): Promise<StoredRun> {
    if (run.merges !== undefined) return run
    const merges = (await foundMerges(this.#deps.models, organization, views, signal)) as unknown as Json
    await this.#deps.works.run((work) => work.in(RunCollection, organization).update(run.id, { $set: { merges } }))
    return { ...run, merges }
  }

  /** Judges rounds until the end. Returns the cause if the ranking is not proven. */
  async #playOn(play: Play, rule: StopRule): Promise<string> {
    const { run, rounds } = play
    const maxPairs = pairsAllowed(run)
    for (;;) {
      const fitted = this.#fitted(play)
      const now = currentStanding(fitted, judgedOf(rounds), rule)
      if (fitted.keys.length < 2) return "Fewer than two variants are left to compare."
      if (now.outcome !== "undecided") return ""
      const failing = failuresAtEnd(rounds)
      if (failing) return `Judging failed ${maxFailures} times in a row: ${failing}`
      const remaining = maxPairs - rounds.length
      if (remaining < 1) return ""
      const chosen = choosePairs(fitted, now, rounds.length, Math.min(pairsAtOnce, remaining))
      const numbered = chosen.map((pair) => ({
        pair,
        number: rounds.filter((round) => pairId(round.first, round.second) === pairId(pair.first, pair.second)).length + 1,
      }))
      rounds.push(...(await Promise.all(numbered.map(({ pair, number }) => this.#round(play, pair, number)))))
      this.#deps.live.emit(play.organization, this.#news(play, "progress"))
    }
  }

  #fitted({ run, rounds }: Play): FittedStrengths {
    const comparisons = rounds.flatMap(({ first, second, value }): Comparison[] =>
      value === null ? [] : [{ a: first, b: second, winner: value === 1 ? "a" : value === 0 ? "b" : "tie", count: 1 }],
    )
    return fitStrengths(comparisons, "bradley-terry", { regularise: true, keys: playingKeys(run) })
  }

  /** Returns stored rounds of earlier attempts of this run, oldest first. */
  async #played(organization: string, run: StoredRun): Promise<Round[]> {
    const rounds: Round[] = []
    const filter = { experiment_id: run.experiment_id, run_id: run.id }
    for await (const observation of this.#deps.store
      .open(ObservationCollection, organization)
      .stream(filter, { sort: { created_at: 1 } })) {
      if (observation.kind === "comparison") rounds.push(roundOf(observation))
    }
    return rounds
  }

  /** Judges one pair in both seats and stores the round in its own commit. */
  async #round(play: Play, { first, second }: ChosenPair, number: number): Promise<Round> {
    const { organization, run, experiment, views } = play
    const id = derivedUuid("tournament round", run.id, pairId(first, second), String(number))
    // The order of the two requests is random: a judge that counts its calls could otherwise identify the variants. The stored
    // order is fixed.
    const orders = [
      [first, second],
      [second, first],
    ] as const
    const [order, reverse] = Number.parseInt(id.slice(-1), 16) % 2 === 0 ? orders : [orders[1], orders[0]]
    const seats = await Promise.all([this.#seat(play, order, number), this.#seat(play, reverse, number)])
    if (order !== orders[0]) seats.reverse()
    const value = roundValue(first, seats)
    const details = Object.fromEntries([first, second].flatMap((key) => viewEntry(key, views.get(key))))
    await this.#deps.works.run((work) => {
      this.#deps.ledger.add(work, organization, experiment, {
        id,
        kind: "comparison",
        variant_key: value === 0 ? second : first,
        other_variant_key: value === 0 ? first : second,
        judge_slug: judgeSlugOf(this.#deps.models.language("judge").model),
        value: value === 0 ? 1 : value,
        reason: seats.map(({ reasoning }) => reasoning).join("\n\n"),
        details: { first, second, first_value: value, seats: seats as unknown as Json, shown: details },
        run_id: run.id,
      })
    })
    return { first, second, value, seats }
  }

  async #seat({ organization, run, views, signal }: Play, [a, b]: readonly [string, string], number: number): Promise<Seat> {
    const [firstView, secondView] = [views.get(a), views.get(b)]
    const question = {
      purpose: "judge" as const,
      prompt: judgePrompt(run.criteria ?? ""),
      input: pairPrompt(firstView?.text ?? "", secondView?.text ?? ""),
      images: firstView?.image && secondView?.image ? [firstView.image, secondView.image] : [],
      seat: `round ${number}`,
      maxOutputTokens: maxAnswerTokens,
      signal,
    }
    const seat = { shown_as_a: a, shown_as_b: b }
    for (let attempt = 1; ; attempt++) {
      try {
        const { value, costMillicents: cost, kept } = await this.#deps.models.object(organization, { ...question, schema: Verdict })
        const { reasoning, confidence } = value
        return { ...seat, winner: value.winner === "A" ? a : b, reasoning, confidence, cost, kept }
      } catch (error) {
        if (signal.aborted) throw error
        const { message: reasoning, reason: failed } = describeFailure(error)
        if (failed === "model_malformed" && attempt < maxAttempts) continue
        return { ...seat, winner: "", reasoning, confidence: 0, cost: 0, failed }
      }
    }
  }

  #news({ run, experiment, rounds }: Play, event: "progress" | "finished") {
    const data = {
      run_id: run.id,
      experiment_slug: experiment.slug,
      comparisons: rounds.length,
      max_comparisons: pairsAllowed(run),
    }
    return { channel: experimentsChannel.name, event: `tournament_${event}`, data }
  }
}

/** Returns the number of pairs. A run stores judge calls, two per pair. */
function pairsAllowed({ max_comparisons = 0 }: StoredRun): number {
  return Math.floor(max_comparisons / 2)
}

/** Returns the judged keys. */
function playingKeys(run: StoredRun): string[] {
  const merged = new Set(mergesIn(run).map(({ merged_key }) => merged_key))
  return run.variants.map(({ key }) => key).filter((key) => !merged.has(key))
}

function mergesIn({ merges = [] }: StoredRun): readonly Merge[] {
  return merges as unknown as readonly Merge[]
}

/** Returns the final details for the ledger. With the comparisons, they contain the whole result. */
function endOf(run: StoredRun, { alpha, equalMargin: equal_margin }: StopRule, result: TournamentResult): Record<string, Json> {
  const { outcome, leader_key, comparisons_to_decision, cost_millicents, note } = result
  const summary = { criteria: run.criteria ?? "", outcome, leader_key, comparisons_to_decision, cost_millicents, note }
  return { method: "tournament", ...summary, alpha, equal_margin, keys: playingKeys(run), merges: run.merges ?? [] }
}

function viewEntry(key: string, view: VariantView | undefined) {
  return view ? [[key, viewDetails(view)] as const] : []
}

/** Returns the value of a round. Seats that disagree count as half a win each. A failed seat makes the round undecided. */
function roundValue(first: string, seats: Round["seats"]): number | null {
  if (seats.some(({ winner }) => winner === "")) return null
  const wins = seats.filter(({ winner }) => winner === first).length
  return wins / seats.length
}

/** Returns the cause of the last rounds' failures if enough of them failed; otherwise "". */
function failuresAtEnd(rounds: readonly Round[]): string {
  const last = rounds.slice(-maxFailures)
  if (last.length < maxFailures || last.some(({ value }) => value !== null)) return ""
  return last.at(-1)?.seats.find(({ winner }) => winner === "")?.reasoning ?? ""
}

/** The job of a tournament: one for the whole tournament; a retry continues it. */
export const TournamentToken = token<Tournament>("Tournament")

export const playTournament = defineJob({
  type: "experiments.tournament",
  summary: "Judge variants in pairs until the leader is clear.",
  payload: z.strictObject({ run_id: z.string(), equal_margin: z.number(), alpha: z.number() }),
  // Suffices for 500 comparisons by a slow model, eight in parallel.
  timeoutMs: 3_600_000,
  inject: { tournament: TournamentToken },
  run: ({ payload: { run_id, equal_margin, alpha }, deps, organization = "", work, signal }) =>
    deps.tournament.play(work, organization, run_id, { alpha, equalMargin: equal_margin }, signal),
  exhausted: ({ payload: { run_id, equal_margin, alpha }, deps, organization = "", work }, error) =>
    deps.tournament.failed(work, organization, run_id, { alpha, equalMargin: equal_margin }, error),
})
