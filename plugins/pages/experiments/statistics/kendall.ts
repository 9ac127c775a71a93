// How two orders of the same things agree: 1 the same, 0 unrelated, -1 reversed.

/** Values of one thing in the two orders. */
export type Pair = readonly [one: number, other: number]

/** Tau-b (Kendall 1945); undefined where one side has no order at all. */
export function kendall(pairs: readonly Pair[]): number | undefined {
  let [agreeing, opposed, tiedInOne, tiedInOther, all] = [0, 0, 0, 0, 0]
  for (const [place, [a, x]] of pairs.entries()) {
    for (const [b, y] of pairs.slice(place + 1)) {
      all++
      const direction = Math.sign(a - b) * Math.sign(x - y)
      if (direction > 0) agreeing++
      if (direction < 0) opposed++
      if (a === b) tiedInOne++
      if (x === y) tiedInOther++
    }
  }
  const scale = Math.sqrt((all - tiedInOne) * (all - tiedInOther))
  return scale > 0 ? (agreeing - opposed) / scale : undefined
}
