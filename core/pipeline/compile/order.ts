// Computes dependencies between steps, and the deferred steps. Explicit `needs` on a deferred step, or a read of its result,
// defer a step. List order sorts only steps on the same side of the reply.
import { didYouMean } from "../../kernel/guess.ts"
import { childPointer } from "../findings.ts"
import type { Report } from "./report.ts"
import type { Draft } from "./steps.ts"

export interface Ordering {
  /** Order consistent with `needs`, then list order. Empty if the needs are circular. */
  readonly sorted: readonly Draft[]
  readonly needs: ReadonlyMap<string, readonly string[]>
  readonly deferred: ReadonlySet<string>
  /** All steps that finish before the step starts. */
  readonly ancestors: ReadonlyMap<string, ReadonlySet<string>>
}

/** `drafts` are the steps of the list, with unique ids. */
export function order(drafts: readonly Draft[], report: Report): Ordering {
  const ids = new Set(drafts.map((draft) => draft.id))
  for (const draft of drafts) reportUnknownNeeds(draft, ids, report)
  const deferred = deferredIds(drafts)
  const needs = new Map<string, string[]>()
  const listed: Draft[] = []
  for (const draft of drafts) {
    const explicit = draft.common.needs?.filter((need) => ids.has(need))
    // Earlier steps of the list on the same side of the reply or before the reply.
    const before = listed.filter((one) => deferred.has(draft.id) || !deferred.has(one.id)).map((one) => one.id)
    needs.set(draft.id, explicit ? [...new Set(explicit)] : before)
    listed.push(draft)
  }
  const cycle = findCycle(drafts, needs)
  if (cycle) {
    const at = drafts.find((draft) => draft.common.needs && cycle.includes(draft.id)) ?? drafts[0]
    const byOrder = cycle.some((id) => drafts.find((draft) => draft.id === id)?.common.needs === undefined)
    const hint = byOrder ? " A step without `needs` runs after the steps above it; move it, or give it `needs`." : ""
    report.add("circular-needs", childPointer(at?.pointer ?? "", "needs"), `The steps need each other: ${cycle.join(" -> ")}.${hint}`)
    return { sorted: [], needs, deferred, ancestors: new Map() }
  }
  const sorted = topological(drafts, needs)
  const ancestors = ancestorsOf(sorted, needs)
  for (const draft of drafts) needs.set(draft.id, direct(needs.get(draft.id) ?? [], ancestors))
  return { sorted, needs, deferred, ancestors }
}

function reportUnknownNeeds(draft: Draft, ids: ReadonlySet<string>, report: Report): void {
  draft.common.needs?.forEach((need, index) => {
    if (ids.has(need)) return
    const pointer = childPointer(childPointer(draft.pointer, "needs"), index)
    report.add("unknown-need", pointer, `The step "${need}" does not exist.${didYouMean(need, [...ids])}`)
  })
}

function deferredIds(drafts: readonly Draft[]): Set<string> {
  const deferred = new Set(drafts.filter((draft) => draft.action?.timing === "deferred" && !draft.common.await).map((draft) => draft.id))
  for (let before = -1; before !== deferred.size; ) {
    before = deferred.size
    for (const draft of drafts) {
      const follows = draft.common.needs?.some((need) => need !== draft.id && deferred.has(need)) ?? false
      if (follows || readsOneOf(draft, deferred)) deferred.add(draft.id)
    }
  }
  return deferred
}

function readsOneOf(draft: Draft, ids: ReadonlySet<string>): boolean {
  return draft.reads.some(({ root, path }) => root === "steps" && path[0] !== draft.id && ids.has(String(path[0])))
}

function findCycle(drafts: readonly Draft[], needs: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>()
  const way: string[] = []
  const visit = (id: string): string[] | undefined => {
    if (done.has(id)) return undefined
    const at = way.indexOf(id)
    if (at >= 0) return [...way.slice(at), id]
    way.push(id)
    for (const need of needs.get(id) ?? []) {
      const cycle = visit(need)
      if (cycle) return cycle
    }
    way.pop()
    done.add(id)
    return undefined
  }
  for (const draft of drafts) {
    const cycle = visit(draft.id)
    if (cycle) return cycle
  }
  return undefined
}

function topological(drafts: readonly Draft[], needs: ReadonlyMap<string, readonly string[]>): Draft[] {
  const byId = new Map(drafts.map((draft) => [draft.id, draft]))
  const sorted = new Set<Draft>()
  const place = (draft: Draft) => {
    if (sorted.has(draft)) return
    const first = (needs.get(draft.id) ?? []).flatMap((id) => byId.get(id) ?? []).sort((a, b) => a.index - b.index)
    for (const need of first) place(need)
    sorted.add(draft)
  }
  for (const draft of drafts) place(draft)
  return [...sorted]
}

function ancestorsOf(sorted: readonly Draft[], needs: ReadonlyMap<string, readonly string[]>): Map<string, Set<string>> {
  const ancestors = new Map<string, Set<string>>()
  for (const { id } of sorted) {
    const own = new Set<string>()
    for (const need of needs.get(id) ?? []) {
      own.add(need)
      for (const further of ancestors.get(need) ?? []) own.add(further)
    }
    ancestors.set(id, own)
  }
  return ancestors
}

/** Removes needs already implied by other needs. */
function direct(needs: readonly string[], ancestors: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return needs.filter((need) => !needs.some((other) => other !== need && ancestors.get(other)?.has(need)))
}
