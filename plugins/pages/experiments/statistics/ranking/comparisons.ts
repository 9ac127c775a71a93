// Comparisons of two keys, and their sums by pair: all that a fit needs of them.

export interface Comparison {
  readonly a: string
  readonly b: string
  readonly winner: "a" | "b" | "tie"
  /** How often it came out so; a positive whole number. */
  readonly count: number
}

/** All comparisons of two keys, by their places in `keys`. */
export interface Pair {
  readonly first: number
  readonly second: number
  firstWins: number
  secondWins: number
  ties: number
}

export interface Comparisons {
  /** In the order in which they were first named. */
  readonly keys: readonly string[]
  readonly pairs: readonly Pair[]
}

/** `keys`: to be there also where they were not compared. */
export function sumByPair(comparisons: readonly Comparison[], keys: readonly string[] = []): Comparisons {
  const places = new Map<string, number>(keys.map((key, place) => [key, place]))
  const pairs: Pair[] = []
  const byPlaces: Pair[][] = []
  const placeOf = (key: string): number => {
    const place = places.get(key)
    if (place !== undefined) return place
    places.set(key, places.size)
    return places.size - 1
  }
  for (const { a, b, winner, count } of comparisons) {
    const [firstPlace, secondPlace] = [placeOf(a), placeOf(b)]
    const [first, second] = firstPlace < secondPlace ? [firstPlace, secondPlace] : [secondPlace, firstPlace]
    const pair = pairOf(first, second)
    if (winner === "tie") pair.ties += count
    else if ((winner === "a" ? firstPlace : secondPlace) === first) pair.firstWins += count
    else pair.secondWins += count
  }
  return { keys: [...places.keys()], pairs }

  function pairOf(first: number, second: number): Pair {
    byPlaces[first] ??= []
    const pair = byPlaces[first][second]
    if (pair) return pair
    const created = { first, second, firstWins: 0, secondWins: 0, ties: 0 }
    byPlaces[first][second] = created
    pairs.push(created)
    return created
  }
}

/**
 * Whether each key won against, or tied with, one of the rest however the keys are parted in two. Only then do the most likely
 * strengths exist (Ford 1957); an unbeaten key has no finite one.
 */
export function isStronglyConnected({ keys, pairs }: Comparisons): boolean {
  const better: number[][] = keys.map(() => [])
  const worse: number[][] = keys.map(() => [])
  for (const { first, second, firstWins, secondWins, ties } of pairs) {
    if (firstWins + ties > 0) link(first, second)
    if (secondWins + ties > 0) link(second, first)
  }
  return reached(worse) === keys.length && reached(better) === keys.length

  function link(winner: number, loser: number): void {
    worse[winner]?.push(loser)
    better[loser]?.push(winner)
  }
}

function reached(next: readonly (readonly number[])[]): number {
  const connected = new Set([0])
  for (const place of connected) for (const other of next[place] ?? []) connected.add(other)
  return connected.size
}
