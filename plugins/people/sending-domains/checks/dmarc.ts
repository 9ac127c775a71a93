// The DMARC policy of a domain (RFC 9989): its own, or that of a domain above it.
import type { Lookup } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../records.ts"
import { dmarcVerdict } from "./receiver.ts"
import type { Fault } from "./record-check.ts"

/** Judges the TXT records at the domain's `_dmarc`. Returns an Error if DNS does not answer. */
export async function dmarcFault(lookup: Lookup, expected: ExpectedRecord, values: readonly string[]): Promise<Fault | Error | undefined> {
  const own = values.filter((value) => /^["\s]*v\s*=\s*DMARC1(?![a-z0-9])/i.test(value))
  const domain = expected.name.slice("_dmarc.".length)
  const passes = async (record: string) => {
    const only: Lookup = async (name, type) =>
      name === expected.name && type === "TXT" ? { known: true, values: [record], authoritative: true, ttl: null } : lookup(name, type)
    return (await dmarcVerdict(only, domain)).result === "pass"
  }
  /** The first of the records without marks of DNS hosts that receivers accept. */
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
