// The SPF record of a domain (RFC 7208). Checks that a receiver passes the sending servers, and that the record has no later
// fault.
import type { Lookup } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../registrations.ts"
import { exchangeOf, spfVerdict, type Verdict } from "./receiver.ts"
import type { Fault } from "./record-check.ts"
import { lookupFault, lookupsIn } from "./spf-lookups.ts"
import { mergedRecords, readTerms, spfRecords, termsOf } from "./spf-terms.ts"

/** Judges the domain's TXT records. `lookup` answers for any name. Returns an Error if DNS does not answer. */
export async function spfFault(lookup: Lookup, expected: ExpectedRecord, values: readonly string[]): Promise<Fault | Error | undefined> {
  const records = spfRecords(values)
  const [record] = records
  if (record === undefined) return { problem: "missing", fix: `Create the TXT record ${expected.name} with the value ${expected.value}` }
  const addresses = await sendingAddresses(lookup, includeOf(expected).slice("include:".length))
  if (addresses instanceof Error) return addresses
  const advice = () => adviceFor(lookup, expected, records, addresses)
  if (records.length > 1)
    return {
      problem: "several",
      fix: `A domain may have one SPF record, and mail servers accept none of ${records.length}. Replace them by one: ${await advice()}`,
    }
  if (record.includes('"')) return { problem: "quoted", fix: `Take the quotes out of the value: ${await advice()}` }
  const fault = await lookupFault(lookup, record, expected.name)
  const verdict = await judged(lookup, expected, addresses, record)
  if (verdict.result === "unknown") return new Error(verdict.why)
  if (verdict.result === "pass" || fault instanceof Error) return fault
  if (!verdict.why.startsWith("permerror"))
    return {
      problem: "different",
      fix: `Mail servers do not accept the servers that send (${verdict.why}). Replace the value by ${await advice()}`,
    }
  return fault ?? { problem: "refused", fix: `Mail servers refuse the whole record (${verdict.why}). Replace it by ${await advice()}` }
}

function includeOf({ value }: ExpectedRecord): string {
  return value.split(" ")[1] ?? ""
}

/** Returns the first verdict other than a pass, over all addresses. */
async function judged(lookup: Lookup, expected: ExpectedRecord, addresses: readonly string[], record: string): Promise<Verdict> {
  // The service's own record has no addresses to test.
  if (addresses.length === 0)
    return termsOf(record).some((term) => term.replace(/^\+/, "").toLowerCase() === includeOf(expected))
      ? { result: "pass" }
      : { result: "fail", why: "the include is missing" }
  for (const address of addresses) {
    const verdict = await spfVerdict(lookup, expected.name, address, record)
    if (verdict.result !== "pass") return verdict
  }
  return { result: "pass" }
}

/** Returns a correct record with as many of the customer's terms as possible. */
async function adviceFor(
  lookup: Lookup,
  expected: ExpectedRecord,
  records: readonly string[],
  addresses: readonly string[],
): Promise<string> {
  for (const record of mergedRecords(includeOf(expected), records)) {
    if (await lookupFault(lookup, record, expected.name)) continue
    if ((await judged(lookup, expected, addresses, record)).result === "pass") return record
  }
  return expected.value
}

// Addresses in the service's own SPF record: the sending servers from a receiver's view.

const maxAddresses = 8
const maxRecords = 10

/** Returns an address per network, up to the limit. Returns an Error if DNS does not answer. */
async function sendingAddresses(lookup: Lookup, host: string): Promise<string[] | Error> {
  const addresses: string[] = []
  const hosts = [host]
  for (const name of hosts) {
    if (hosts.length > maxRecords || addresses.length >= maxAddresses) break
    const answer = await lookup(name, "TXT")
    if (!answer.known) return new Error(answer.why)
    const [record = ""] = spfRecords(answer.values)
    addresses.push(...readTerms(record).flatMap((term) => /^\+?ip[46]:([\da-f.:]+)/i.exec(term)?.[1] ?? []))
    const passing = lookupsIn(record, name).filter(({ term, target }) => !/^[-~?]/.test(term) && !target.includes("%"))
    hosts.push(...passing.flatMap(({ kind, target }) => (kind === "include" && !hosts.includes(target) ? [target] : [])))
    for (const { kind, target } of passing) addresses.push(...(await hostAddresses(lookup, kind, target)))
  }
  return [...new Set(addresses)].slice(0, maxAddresses)
}

async function hostAddresses(lookup: Lookup, kind: string, target: string): Promise<readonly string[]> {
  if (kind === "a") return valuesOf(lookup, target, "A")
  if (kind !== "mx") return []
  const exchanges = (await valuesOf(lookup, target, "MX")).map((value) => exchangeOf(value).exchange)
  return (await Promise.all(exchanges.slice(0, maxAddresses).map((one) => valuesOf(lookup, one, "A")))).flat()
}

async function valuesOf(lookup: Lookup, name: string, type: "A" | "MX"): Promise<readonly string[]> {
  const answer = await lookup(name, type)
  return answer.known ? answer.values : []
}
