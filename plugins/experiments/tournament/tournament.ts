// A tournament: pairs of variants are judged in both seats, the most telling pair first, until the leader is clear or nothing
// more may be asked. It runs as one job that reads what it did before from the ledger, so a crash repeats no kept verdict.
import { AppError, type Clock, derivedUuid, type Json, type Live, type Store, type UnitOfWork, type UnitsOfWork } from "#core"
import type { Models } from "../../models/index.ts"
import { ObservationCollection, type StoredExperiment, type StoredObservation } from "../collections.ts"
import type { Experiments } from "../experiments.ts"
import { experimentsChannel, type Ledger } from "../ledger.ts"
import type { Comparison } from "../ranking/comparisons.ts"
import { type FittedStrengths, fitStrengths } from "../ranking/fit.ts"
import { finished, RunCollection, requireRun, type StoredRun } from "../runs.ts"
import type { VariantView, VariantViews } from "../variant-views.ts"
import { type ChosenPair, choosePairs, pairId } from "./choose.ts"
import { judgePrompt, shownPair, Verdict } from "./prompts.ts"
import { judgedOf, type Round, tournamentResult } from "./result.ts"
import { type StopRule, standing } from "./stop.ts"

export interface TournamentDeps {
  readonly store: Store
  readonly clock: Clock
  readonly works: UnitsOfWork
  readonly live: Live
  readonly models: Models
  readonly experiments: Experiments
  readonly ledger: Ledger
  readonly views: VariantViews
}

/** Pairs judged at once, each in both seats. */
const pairsAtOnce = 4
const maxAnswerTokens = 1_200
/** Rounds that fail in a row after which a tournament ends. */
const maxFailures = 6

/** What is going on in one run. */
interface Play {
  readonly organization: string
  readonly run: StoredRun
  readonly experiment: StoredExperiment
  readonly views: ReadonlyMap<string, VariantView>
  readonly rounds: Round[]
  readonly signal: AbortSignal
}

export class Tournament {
  readonly #deps: TournamentDeps

  constructor(deps: TournamentDeps) {
    this.#deps = deps
  }

  /** To the end, which it stages. Throws Postponed while pictures are being taken. */
  async play(work: UnitOfWork, organization: string, runId: string, rule: StopRule, signal: AbortSignal): Promise<void> {
    const { store, clock, experiments, models } = this.#deps
    const run = await requireRun(store, organization, runId)
    if (run.status === "completed") return
    const experiment = await experiments.require(organization, run.experiment_id)
    const views = new Map<string, VariantView>()
    for (const { key } of run.variants) views.set(key, await this.#deps.views.of(organization, experiment, run, key))
    const rounds = await this.#played(organization, run)
    const playing: Play = { organization, run, experiment, views, rounds, signal }
    const stopped = await this.#playOn(playing, rule)
    const judge = { model: models.language("judge").model, prompt: judgePrompt("") }
    const result = tournamentResult({ run, rounds, fitted: this.#fitted(playing), rule, judge, stopped }) as unknown as Json
    work.in(RunCollection, organization).update(run.id, finished(result, clock.now()), { where: { status: "running" } })
    this.#deps.live.stage(work, organization, this.#news(playing, "finished"))
  }

  /** Judges round after round; returns why it ended where that was not the ranking's doing. */
  async #playOn(play: Play, rule: StopRule): Promise<string> {
    const { run, rounds } = play
    const most = run.max_comparisons ?? 0
    for (;;) {
      const fitted = this.#fitted(play)
      const now = standing(fitted, judgedOf(rounds), rule)
      if (run.variants.length < 2) return "Fewer than two variants are left to compare."
      if (now.outcome !== "undecided") return ""
      const failing = failuresAtEnd(rounds)
      if (failing) return `Judging failed ${maxFailures} times in a row: ${failing}`
      const left = Math.floor((most - rounds.length * 2) / 2)
      if (left < 1) return ""
      const chosen = choosePairs(fitted, now, rounds.length, Math.min(pairsAtOnce, left))
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
    return fitStrengths(comparisons, "bradley-terry", { regularise: true, keys: run.variants.map(({ key }) => key) })
  }

  /** Rounds that an earlier try of this run kept, oldest first. */
  async #played(organization: string, run: StoredRun): Promise<Round[]> {
    const rounds: Round[] = []
    const filter = { experiment_id: run.experiment_id, run_id: run.id }
    for await (const one of this.#deps.store.open(ObservationCollection, organization).stream(filter, { sort: { id: 1 } })) {
      if (one.kind === "comparison") rounds.push(roundOf(one))
    }
    return rounds
  }

  /** One pair in both seats, kept on the ledger in a commit of its own. */
  async #round({ organization, run, experiment, views, signal }: Play, { first, second }: ChosenPair, number: number): Promise<Round> {
    const { models, ledger, works } = this.#deps
    const prompt = judgePrompt(run.criteria ?? "")
    const seat = async (a: string, b: string) => {
      const [shownA, shownB] = [views.get(a), views.get(b)]
      const images = shownA?.image && shownB?.image ? [shownA.image, shownB.image] : []
      const input = shownPair(shownA?.text ?? "", shownB?.text ?? "")
      const asked = { purpose: "judge" as const, prompt, input, images, seat: `round ${number}`, maxOutputTokens: maxAnswerTokens, signal }
      try {
        const { value, costMillicents } = await models.object(organization, { ...asked, schema: Verdict })
        return {
          shown_as_a: a,
          shown_as_b: b,
          winner: value.winner === "A" ? a : b,
          reasoning: value.reasoning,
          confidence: value.confidence,
          cost: costMillicents,
        }
      } catch (error) {
        if (signal.aborted) throw error
        const reasoning = error instanceof AppError ? error.message : "The service failed."
        return { shown_as_a: a, shown_as_b: b, winner: "", reasoning, confidence: 0, cost: 0 }
      }
    }
    const seats = await Promise.all([seat(first, second), seat(second, first)])
    const round: Round = { first, second, value: roundValue(first, seats), seats }
    const value = round.value
    const reason = seats.map(({ reasoning }) => reasoning).join("\n\n")
    await works.run((work) => {
      ledger.add(work, organization, experiment, {
        id: this.#roundId(run, first, second, number),
        kind: "comparison",
        variant_key: value === 0 ? second : first,
        other_variant_key: value === 0 ? first : second,
        judge_slug: `model:${models.language("judge").model}@${prompt.name}-v${prompt.version}`,
        value: value === 0 ? 1 : value,
        reason,
        details: { first, second, first_value: value, seats: seats as unknown as Json },
        run_id: run.id,
      })
    })
    return round
  }

  #roundId({ id }: StoredRun, first: string, second: string, number: number): string {
    return derivedUuid("tournament round", id, pairId(first, second), String(number))
  }

  #news({ run, experiment, rounds }: Play, event: "progress" | "finished") {
    const data = {
      run_id: run.id,
      experiment_slug: experiment.slug,
      comparisons: rounds.length * 2,
      max_comparisons: run.max_comparisons ?? 0,
    }
    return { channel: experimentsChannel.name, event: `tournament_${event}`, data }
  }
}

/** A verdict counts where both seats agree; a flip is half a win of each; undefined seats make no round. */
function roundValue(first: string, seats: Round["seats"]): number | null {
  if (seats.some(({ winner }) => winner === "")) return null
  const wins = seats.filter(({ winner }) => winner === first).length
  return wins / seats.length
}

function roundOf({ details }: StoredObservation): Round {
  const { first, second, first_value, seats } = details as unknown as {
    first: string
    second: string
    first_value: number | null
    seats: Round["seats"]
  }
  return { first, second, value: first_value, seats }
}

/** What the last rounds failed with, where so many did; "" otherwise. */
function failuresAtEnd(rounds: readonly Round[]): string {
  const last = rounds.slice(-maxFailures)
  if (last.length < maxFailures || last.some(({ value }) => value !== null)) return ""
  return last.at(-1)?.seats.find(({ winner }) => winner === "")?.reasoning ?? ""
}
