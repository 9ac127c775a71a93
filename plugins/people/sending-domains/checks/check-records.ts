// Compares the records of a domain with DNS, and recognizes common mistakes.
import type { Answer, Lookup } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../registrations.ts"
import { dkimFault } from "./dkim.ts"
import { mxFault, returnPathFault } from "./hosts.ts"
import { dmarcVerdict, type SignedSample } from "./receiver.ts"
import { checkOf, type Fault, type RecordCheck } from "./record-check.ts"
import { spfFault } from "./spf.ts"
import { spfRecords } from "./spf-terms.ts"

type Judgement = Fault | Error | undefined

export interface Lookups {
  /** Lookup for the domain's own names, at the name servers of its zone. */
  readonly own: Lookup
  /** Lookup for other names, such as SPF includes. */
  readonly any: Lookup
}

export interface Checking {
  readonly lookups: Lookups
  /** Usually the start of the domain's zone. */
  readonly apex: string
  readonly sample: SignedSample
}

/** Looks up each record of a domain in DNS. */
export function checkRecords(checking: Checking, records: readonly ExpectedRecord[]): Promise<RecordCheck[]> {
  return Promise.all(records.map((record) => checkRecord(checking, record)))
}

async function checkRecord(checking: Checking, expected: ExpectedRecord): Promise<RecordCheck> {
  const { lookups, apex } = checking
  const lookup = lookups.own
  const answer = await lookup(expected.name, expected.type)
  const judged = answer.known ? await judge(checking, expected, answer.values) : undefined
  const missing = judged !== undefined && !(judged instanceof Error) && judged.problem === "missing"
  const doubled = missing ? await doubledName(lookup, apex, expected) : undefined
  const shown = expected.kind === "spf" || expected.kind === "dmarc" ? withoutOthers(answer) : answer
  return checkOf(expected, shown, doubled ?? judged)
}

/** Removes unrelated TXT records of the name. */
function withoutOthers(answer: Answer): Answer {
  return answer.known ? { ...answer, values: answer.values.filter((value) => /v=(?:spf|dmarc)1/i.test(value)) } : answer
}

async function judge({ lookups, sample }: Checking, expected: ExpectedRecord, values: readonly string[]): Promise<Judgement> {
  if (expected.kind === "dkim") return dkimFault(expected, values, sample)
  if (expected.kind === "spf") return spfFault(lookups.any, expected, values)
  if (expected.kind === "return_path") return returnPathFault(lookups, expected, values)
  if (expected.kind === "dmarc") return dmarcFault(withAnswer(lookups.any, expected, values), expected, values)
  return mxFault(expected, values)
}

/** Returns a lookup with the examined answer, in place of cached answers. */
function withAnswer(lookup: Lookup, expected: ExpectedRecord, values: readonly string[]): Lookup {
  return async (name, type) =>
    name === expected.name && type === expected.type ? { known: true, values, authoritative: true, ttl: null } : lookup(name, type)
}

/** Detects the name `a.example.com.example.com`. Some DNS hosts append the zone to every name. */
async function doubledName(lookup: Lookup, apex: string, expected: ExpectedRecord): Promise<Fault | undefined> {
  const doubled = `${expected.name}.${apex}`
  const answer = await lookup(doubled, expected.type)
  const values = answer.known ? answer.values : []
  const ours = expected.kind === "spf" ? spfRecords(values) : values
  if (ours.length === 0) return undefined
  return {
    problem: "name_doubled",
    fix: `The record stands at ${doubled}: the DNS host adds ${apex} itself. Enter the name as ${expected.name.slice(0, -apex.length - 1) || "@"}`,
  }
}

// The DMARC policy of a domain (RFC 9989): its own, or the policy of a parent domain.

/** Judges the TXT records at the domain's `_dmarc`. Returns an Error if DNS does not answer. */
async function dmarcFault(lookup: Lookup, expected: ExpectedRecord, values: readonly string[]): Promise<Fault | Error | undefined> {
  const own = values.filter((value) => /^["\s]*v\s*=\s*DMARC1(?![a-z0-9])/i.test(value))
  const domain = expected.name.slice("_dmarc.".length)
  const passes = async (record: string) => {
    const only: Lookup = async (name, type) =>
      name === expected.name && type === "TXT" ? { known: true, values: [record], authoritative: true, ttl: null } : lookup(name, type)
    return (await dmarcVerdict(only, domain)).result === "pass"
  }
  /** Returns the first record that receivers accept after removal of a DNS host's quotes and backslashes. */
  const mended = async () => {
    for (const record of own.map((one) => one.replace(/["\\]/g, "").trim())) if (await passes(record)) return record
    return expected.value
  }
  if (own.length > 1)
    return {
      problem: "several",
      fix: `${expected.name} may have one DMARC record; remove all but one, and let it be ${await mended()}`,
    }
  const verdict = await dmarcVerdict(lookup, domain)
  if (verdict.result === "pass") return undefined
  if (verdict.result === "unknown") return new Error(verdict.why)
  const [record] = own
  if (record === undefined) return { problem: "missing", fix: `Create the TXT record ${expected.name} with the value ${expected.value}` }
  if (record.includes('"')) return { problem: "quoted", fix: `Take the quotes out of the value: ${await mended()}` }
  if (record.includes("\\")) return { problem: "escaped", fix: `Take the backslashes out of the value: ${await mended()}` }
  return { problem: "different", fix: `Replace the value by ${await mended()}` }
}
