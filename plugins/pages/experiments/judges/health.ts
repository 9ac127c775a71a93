// How a judge judges, apart from what it judges: what the seats, the length of a page and chance do to its verdicts. Read from the
// ledger's comparisons; answers that were kept from an earlier run say nothing new, and are left out. Pure.
import type { StoredObservation } from "../collections.ts"
import { type Cluster, type Share, shareOf } from "../statistics/shares.ts"

export interface JudgeHealth {
  /** Pairs of pages of an experiment that it was shown. */
  readonly pairs: number
  /** Comparisons of a pair in both seats. */
  readonly rounds: number
  /** How often the page that was shown first won; one half without an effect, regardless of the pages. */
  readonly position_effect: Share
  /** How often the longer page won. Longer pages may be better: only a share that stays away from one half over many pages tells. */
  readonly length_effect: Share
  /** Rounds in which the verdict changed with the seats. */
  readonly flip_rate: Share
  /** How often the next round of the same pair came to the same verdict. */
  readonly self_agreement: Share
  /** Askings that it declined. */
  readonly refusals: Share
  /** Askings that it answered in another form than was asked for, each time. */
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
  /** Characters of the longer page's key; "" where they are as long, or not known. */
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

/** Each round against the one before it in the same run, in which the pages and the question are the same. */
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
  // From the side of the key that sorts first, so that rounds of one pair can be compared.
  const value = first_value === null || first === low ? first_value : 1 - first_value
  return { pair: `${experiment_id} ${low} ${high}`, run: run_id ?? "", seats, value, longer: a > b ? first : b > a ? second : "" }
}
