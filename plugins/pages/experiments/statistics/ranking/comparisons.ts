// Comparisons of two keys, and their sums by pair. A fit needs only the sums.

export interface Comparison {
  readonly a: string
  readonly b: string
  readonly winner: "a" | "b" | "tie"
  /** Number of equal outcomes; a positive integer. */
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
  /** In order of first mention. */
  readonly keys: readonly string[]
  readonly pairs: readonly Pair[]
}

/** `keys`: included even without comparisons. */
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
 * Returns true if, for every split of the keys in two, each part won or tied against the other. Only then do finite most likely
 * strengths exist (Ford 1957).
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
