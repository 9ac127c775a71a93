// Selects segments to merge: eight segments of one size become one, so a search reads few segments.

export const mergedAtOnce = 8

export interface MergeRule<S> {
  /** A segment of this many items is not merged further. */
  readonly maxSize: number
  /** Maximum number of items in a segment. */
  readonly maxMerged?: number
  /** Only segments of the same group are merged. Default: a single group. */
  readonly groupOf?: (segment: S) => string
}

/** Returns an empty list if no group has enough segments of one size. */
export function segmentsToMerge<S>(segments: readonly S[], sizeOf: (segment: S) => number, rule: MergeRule<S>): S[] {
  const { maxSize, maxMerged = Number.POSITIVE_INFINITY, groupOf = () => "" } = rule
  const alike = new Map<string, S[]>()
  for (const segment of segments.filter((one) => sizeOf(one) < maxSize)) {
    const key = `${groupOf(segment)} ${Math.floor(Math.log2(sizeOf(segment)) / Math.log2(mergedAtOnce))}`
    const group = alike.get(key) ?? []
    if (group.reduce((sum, one) => sum + sizeOf(one), sizeOf(segment)) > maxMerged) return group
    if (group.push(segment) === mergedAtOnce) return group
    alike.set(key, group)
  }
  return []
}
