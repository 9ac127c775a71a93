// The status of a domain after a check. A lookup without an answer does not change the status. An active domain with a wrong
// record gets a strike. The same problem over several checks makes the domain fail.
import type { StoredDomain } from "../sending-domain.ts"
import type { RecordCheck } from "./record-check.ts"

/** Checks with the same problem until a domain fails. */
const checksToFail = 3
/** Checks within this interval count once, so frequent checks do not fail a domain. */
const countedEveryMs = 600_000

type Judged = Pick<StoredDomain, "status" | "error_reason" | "evidence" | "strikes">

export interface CheckRun {
  readonly at: string
  readonly records: readonly RecordCheck[]
  /** True if a user started the check. The user expects the records to be present. */
  readonly asked: boolean
}

export function afterCheck(domain: Judged, { at, records, asked }: CheckRun): Judged {
  // Sending needs no MX record.
  const needed = records.filter(({ record }) => record !== "mx")
  const wrong = needed.filter(({ state }) => state === "wrong")
  if (needed.every(({ state }) => state === "ok"))
    return { status: "active", error_reason: "", evidence: { at, records: [...records] }, strikes: null }
  // The wrong records may be correct by now, so a failed domain reports the open question instead.
  if (wrong.length === 0) return domain.status === "failed" ? { ...domain, error_reason: openReason(needed) } : domain
  const what = wrong.map(({ record, problem }) => `${record} ${problem}`).join(", ")
  const strikes = struck(domain.strikes, what, at)
  if (domain.status === "active" ? strikes.count < checksToFail : !asked && domain.status === "pending" && strikes.count < checksToFail)
    return { ...domain, strikes }
  return { status: "failed", error_reason: reasonOf(wrong, domain.evidence), evidence: domain.evidence, strikes }
}

function struck(before: Judged["strikes"], what: string, at: string): NonNullable<Judged["strikes"]> {
  if (before?.what !== what) return { what, count: 1, at }
  return Date.parse(at) - Date.parse(before.at) < countedEveryMs ? before : { what, count: before.count + 1, at }
}

function reasonOf(wrong: readonly RecordCheck[], evidence: Judged["evidence"]): string {
  return wrong
    .map(({ record, name, type, problem, found, fix }) => {
      const before = evidence?.records.find((one) => one.record === record)
      const changed = before ? ` It was ${shownValues(before.found)} at ${evidence?.at}, and is ${shownValues(found)}.` : ""
      return `${record} (${type} ${name}): ${problem}.${changed} ${fix}`
    })
    .join(" ")
    .slice(0, 4_000)
}

function openReason(records: readonly RecordCheck[]): string {
  const open = records
    .filter(({ state }) => state === "unknown")
    .map(({ record, name, type, fix }) => `${record} (${type} ${name}): ${fix}`)
  return `The other records are right. ${open.join(" ")}`.slice(0, 4_000)
}

function shownValues(values: readonly string[]): string {
  return values.length === 0 ? "nothing" : values.map((value) => `"${value}"`).join(" and ")
}
