// Reading the ledger: what counts of it, since an observation that a later one corrects has the later one's value or does not
// count, and what was written last. Pure.
import type { StoredObservation } from "./collections.ts"

export interface CountedObservation extends StoredObservation {
  readonly corrected: boolean
}

/** The observations less the corrections, in the order given. A correction may be corrected in turn. */
export function counted(observations: readonly StoredObservation[]): CountedObservation[] {
  const targets = new Map(observations.flatMap((one) => (isCorrection(one) ? [[one.id, String(one.details["corrects"])]] : [])))
  const last = new Map<string, StoredObservation>()
  const inOrder = observations.filter(isCorrection).sort((one, other) => (one.id < other.id ? -1 : 1))
  for (const correction of inOrder) last.set(rootOf(correction.id, targets), correction)
  return observations.flatMap((one): CountedObservation[] => {
    if (isCorrection(one)) return []
    const correction = last.get(one.id)
    if (!correction) return [{ ...one, corrected: false }]
    return correction.details["counts"] === true ? [{ ...one, value: correction.value, corrected: true }] : []
  })
}

export function isCorrection({ details }: Pick<StoredObservation, "details">): boolean {
  return typeof details["corrects"] === "string"
}

function rootOf(id: string, targets: ReadonlyMap<string, string>): string {
  let root = id
  for (let target = targets.get(root); target !== undefined; target = targets.get(root)) root = target
  return root
}

/** The one that was made last; of several at the same instant, the first given. */
export function newest<T extends { readonly created_at: string }>(all: readonly T[]): T | undefined {
  return all.reduce<T | undefined>((last, one) => (last && last.created_at >= one.created_at ? last : one), undefined)
}
