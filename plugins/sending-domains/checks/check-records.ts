// Holds the records of a domain against DNS, and recognises what commonly goes wrong with each.
import type { Answer, Lookup } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../records.ts"
import { checkOf, type Fault, type RecordCheck } from "./record-check.ts"
import { spfFault, spfRecords } from "./spf.ts"

type Judgement = Fault | Error | undefined

export interface Lookups {
  /** Of the domain's own names: asks the name servers of its zone. */
  readonly own: Lookup
  /** Of names of others, which its SPF record leads to. */
  readonly any: Lookup
}

/** Asks DNS about each record of a domain. `apex` is where its zone usually begins. */
export function checkRecords(lookups: Lookups, apex: string, records: readonly ExpectedRecord[]): Promise<RecordCheck[]> {
  return Promise.all(records.map((record) => checkRecord(lookups, apex, record)))
}

async function checkRecord(lookups: Lookups, apex: string, expected: ExpectedRecord): Promise<RecordCheck> {
  const lookup = lookups.own
  const answer = await lookup(expected.name, expected.type)
  const judged = answer.known ? await judge(lookups, apex, expected, answer.values) : undefined
  const missing = judged !== undefined && !(judged instanceof Error) && judged.problem === "missing"
  const doubled = missing ? await doubledName(lookup, apex, expected) : undefined
  const shown = expected.kind === "spf" || expected.kind === "dmarc" ? withoutOthers(answer) : answer
  return checkOf(expected, shown, doubled ?? judged)
}

/** Other TXT records of the name are nobody's business here. */
function withoutOthers(answer: Answer): Answer {
  return answer.known ? { ...answer, values: answer.values.filter((value) => /v=(?:spf|dmarc)1/i.test(value)) } : answer
}

async function judge(lookups: Lookups, apex: string, expected: ExpectedRecord, values: readonly string[]): Promise<Judgement> {
  const lookup = lookups.own
  if (expected.kind === "dkim") return dkimFault(expected, values)
  if (expected.kind === "spf") return spfFault(lookups.any, expected, values)
  if (expected.kind === "return_path") return returnPathFault(lookup, expected, values)
  if (expected.kind === "dmarc") return dmarcFault(lookup, apex, expected, values)
  return mxFault(expected, values)
}

function dkimFault(expected: ExpectedRecord, values: readonly string[]): Judgement {
  const [value] = values
  if (value === undefined) return missing(expected)
  const key = keyOf(expected.value)
  if (values.length > 1) {
    const split = values.every((one) => key.includes(keyOf(one) || one.replace(/[\s"]/g, "")))
    return split
      ? { problem: "split", fix: `The key is spread over ${values.length} records. Make it one TXT record: ${expected.value}` }
      : { problem: "several", fix: `Remove the other TXT records of ${expected.name}; keep ${expected.value}` }
  }
  if (value.includes('"')) return { problem: "quoted", fix: `Take the quotes out of the value: ${expected.value}` }
  const found = keyOf(value)
  if (found === key) return undefined
  if (found !== "" && key.startsWith(found))
    return {
      problem: "truncated",
      fix: `The key ends after ${found.length} of ${key.length} characters. Enter the whole value, in several strings of one record where the DNS host limits their length: ${expected.value}`,
    }
  return { problem: "different", fix: `Replace the value by ${expected.value}` }
}

/** The tag `p`, in which white space means nothing (RFC 6376 section 3.6.1). */
function keyOf(value: string): string {
  return /(?:^|;)\s*p\s*=([^;]*)/.exec(value)?.[1]?.replace(/\s/g, "") ?? ""
}

async function returnPathFault(lookup: Lookup, expected: ExpectedRecord, values: readonly string[]): Promise<Judgement> {
  if (values.length === 1 && values[0] === expected.value) return undefined
  if (values.length > 0) return { problem: "different", fix: `Point the CNAME ${expected.name} to ${expected.value}` }
  const addresses = await lookup(expected.name, "A")
  if (!addresses.known) return new Error(addresses.why)
  if (addresses.values.length === 0) return missing(expected)
  return {
    problem: "proxied",
    fix: `${expected.name} has addresses (${addresses.values.join(", ")}) in place of the CNAME, as a proxy makes them. Switch the proxy off for it (DNS only), with the target ${expected.value}`,
  }
}

async function dmarcFault(lookup: Lookup, apex: string, expected: ExpectedRecord, values: readonly string[]): Promise<Judgement> {
  const [record, ...others] = dmarcRecords(values)
  if (others.length > 0) return { problem: "several", fix: `${expected.name} may have one DMARC record; remove all but one` }
  if (record?.includes('"')) return { problem: "quoted", fix: `Take the quotes out of the value: ${record.replaceAll('"', "")}` }
  if (record !== undefined) return /;\s*p\s*=\s*(?:none|quarantine|reject)\b/i.test(record) ? undefined : different(expected)
  const inherited = `_dmarc.${apex}`
  if (inherited === expected.name) return missing(expected)
  const answer = await lookup(inherited, "TXT")
  if (!answer.known) return new Error(answer.why)
  return dmarcRecords(answer.values).length === 1 ? undefined : missing(expected)
}

function dmarcRecords(values: readonly string[]): string[] {
  return values.filter((value) => /^"?\s*v\s*=\s*DMARC1\b/i.test(value))
}

function mxFault(expected: ExpectedRecord, values: readonly string[]): Judgement {
  if (values.length === 0) return missing(expected)
  const host = expected.value.split(" ")[1]
  return values.every((value) => value.split(" ")[1] === host)
    ? undefined
    : { problem: "different", fix: `Mail would go elsewhere as well. Let the MX records of ${expected.name} be ${expected.value} alone` }
}

/** DNS hosts that add the zone to every name make `a.example.com` to `a.example.com.example.com`. */
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

function missing(expected: ExpectedRecord): Fault {
  return { problem: "missing", fix: `Create the ${expected.type} record ${expected.name} with the value ${expected.value}` }
}

function different(expected: ExpectedRecord): Fault {
  return { problem: "different", fix: `Replace the value by ${expected.value}` }
}
