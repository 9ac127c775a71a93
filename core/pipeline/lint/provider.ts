// Lints against the sender's behaviour: its wait time, and the signed parts of a request.
import { timeoutOf } from "../compile/build.ts"
import type { AuthFacts } from "../compile/environment.ts"
import type { Ordering } from "../compile/order.ts"
import type { Report } from "../compile/report.ts"
import type { PlacedRead } from "../template.ts"
import { dedupeRoots } from "./reads.ts"

/** Finds the slowest chain of awaited steps. Actions that only stage writes take no time. */
export function lintDeadlines(ordering: Ordering, facts: AuthFacts | undefined, report: Report): void {
  if (facts?.ackTimeoutS === undefined) return
  const ends = new Map<string, number>()
  let slowest = { total: 0, pointer: "", chain: [] as string[] }
  const chains = new Map<string, string[]>()
  for (const draft of ordering.sorted) {
    if (ordering.deferred.has(draft.id)) continue
    const needs = ordering.needs.get(draft.id) ?? []
    const last = [...needs].sort((a, b) => (ends.get(b) ?? 0) - (ends.get(a) ?? 0))[0]
    const waits = draft.action?.timing === "deferred"
    const total = (last === undefined ? 0 : (ends.get(last) ?? 0)) + (waits ? timeoutOf(draft, false) : 0)
    const chain = [...(last === undefined ? [] : (chains.get(last) ?? [])), ...(waits ? [draft.id] : [])]
    ends.set(draft.id, total)
    chains.set(draft.id, chain)
    if (total > slowest.total) slowest = { total, pointer: draft.pointer, chain }
  }
  if (slowest.total <= facts.ackTimeoutS * 1_000) return
  const message =
    `The awaited steps ${slowest.chain.join(", ")} can take ${slowest.total / 1_000} s together; the sender waits ${facts.ackTimeoutS} s. ` +
    'Lower their "timeout_ms", or do not await them.'
  report.add("deadlines-exceed-provider-wait", slowest.pointer, message)
}

/** An attacker who can choose the key could make new events look like repeats. */
export function lintDedupeCover(reads: readonly PlacedRead[], facts: AuthFacts | undefined, report: Report): void {
  if (!facts) return
  const trusted = facts.coversBody ? ["payload", "envelope", "pipeline", "organization"] : ["pipeline", "organization"]
  // An unreadable root is already reported, and an attacker cannot choose it.
  const open = dedupeRoots.filter((root) => !trusted.includes(root) && reads.some((read) => read.root === root))
  if (open.length === 0) return
  const message = `The key reads ${open.join(", ")}, which no signature covers: a sender of forged or replayed requests can choose it.`
  report.add("dedupe-key-not-signed", "/dedupe/key", message)
}
