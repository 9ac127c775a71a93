// Health of a judge: the effects of seat order, page length and chance on its verdicts. Read from the ledger's comparisons.
// Cached answers of earlier runs are left out, since they are not new verdicts. Pure.
import type { StoredObservation } from "../collections.ts"
import { type Cluster, type Share, shareOf } from "../statistics/shares.ts"

export interface JudgeHealth {
  /** Pairs of pages shown to the judge. */
  readonly pairs: number
  /** Comparisons of a pair in both seats. */
  readonly rounds: number
  /** Share of wins of the page shown first. One half means no effect, regardless of the pages. */
  readonly position_effect: Share
  /**
   * Share of wins of the longer page. Longer pages may be better, so only a constant deviation from one half over many pages is a
   * sign of bias.
   */
  readonly length_effect: Share
  /** Share of rounds with a different verdict per seat order. */
  readonly flip_rate: Share
  /** Share of rounds with the same verdict as the previous round of the pair. */
  readonly self_agreement: Share
  /** Requests refused by the judge. */
  readonly refusals: Share
  /** Requests answered in a wrong format at every attempt. */
  readonly malformed: Share
}

interface Seat {
  readonly shown_as_a: string
  readonly winner: string
  readonly kept?: boolean
  readonly failed?: string
}

interface Round {
  readonly pair: string
  readonly run: string
  readonly seats: readonly Seat[]
  readonly value: number | null
  /** Key of the page with more characters; "" if the lengths are equal or unknown. */
  readonly longer: string
}

/** `comparisons`: of one judge, oldest first. */
export function healthOf(comparisons: readonly StoredObservation[]): JudgeHealth {
  const rounds = comparisons.map(roundOf).filter(({ seats }) => seats.every(({ kept }) => kept !== true))
  const judged = rounds.filter(({ value }) => value !== null)
  const seats = (round: Round, is: (seat: Seat) => boolean) => round.seats.filter(is).length
  return {
    pairs: new Set(rounds.map(({ pair }) => pair)).size,
    rounds: rounds.length,
    position_effect: byPair(judged, (round) => ({ hits: seats(round, (seat) => seat.winner === seat.shown_as_a) / 2, of: 1 })),
    length_effect: byPair(
      judged.filter(({ longer }) => longer !== ""),
      (round) => ({ hits: seats(round, (seat) => seat.winner === round.longer) / 2, of: 1 }),
    ),
    flip_rate: byPair(judged, ({ value }) => ({ hits: value === 0.5 ? 1 : 0, of: 1 })),
    self_agreement: selfAgreement(judged),
    refusals: byPair(rounds, (round) => ({ hits: seats(round, (seat) => seat.failed === "model_declined"), of: round.seats.length })),
    malformed: byPair(rounds, (round) => ({ hits: seats(round, (seat) => seat.failed === "model_malformed"), of: round.seats.length })),
  }
}

function byPair(rounds: readonly Round[], counted: (round: Round) => Cluster): Share {
  const clusters = new Map<string, { hits: number; of: number }>()
  for (const round of rounds) {
    const cluster = clusters.get(round.pair) ?? { hits: 0, of: 0 }
    const { hits, of } = counted(round)
    clusters.set(round.pair, { hits: cluster.hits + hits, of: cluster.of + of })
  }
  return shareOf([...clusters.values()])
}

/** Compares each round with the previous one of the same run. Pages and question are the same within a run. */
function selfAgreement(rounds: readonly Round[]): Share {
  const before = new Map<string, Round>()
  const agreed = rounds.flatMap((round) => {
    const key = `${round.run} ${round.pair}`
    const last = before.get(key)
    before.set(key, round)
    return last ? [{ ...round, agrees: last.value === round.value }] : []
  })
  return byPair(agreed, (round) => ({ hits: (round as Round & { agrees: boolean }).agrees ? 1 : 0, of: 1 }))
}

function roundOf({ experiment_id, run_id, details }: StoredObservation): Round {
  const { first, second, first_value, seats, shown } = details as unknown as {
    readonly first: string
    readonly second: string
    readonly first_value: number | null
    readonly seats: readonly Seat[]
    readonly shown?: Readonly<Record<string, { readonly characters: number }>>
  }
  const [a = 0, b = 0] = [shown?.[first]?.characters, shown?.[second]?.characters]
  const [low, high] = first < second ? [first, second] : [second, first]
  // The value belongs to the key that sorts first, so rounds of one pair are comparable.
  const value = first_value === null || first === low ? first_value : 1 - first_value
  return { pair: `${experiment_id} ${low} ${high}`, run: run_id ?? "", seats, value, longer: a > b ? first : b > a ? second : "" }
}
