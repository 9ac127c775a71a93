// The DKIM key of a domain (RFC 6376). Checks that a receiver can verify a message with the domain's signature.
import type { Lookup } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../registrations.ts"
import { dkimVerdict, type SignedSample } from "./receiver.ts"
import type { Fault } from "./record-check.ts"

/** Judges the TXT records at the selector. Returns an Error if DNS does not answer. */
export async function dkimFault(
  expected: ExpectedRecord,
  values: readonly string[],
  sample: SignedSample,
): Promise<Fault | Error | undefined> {
  const [value] = values
  if (value === undefined) return { problem: "missing", fix: `Create the TXT record ${expected.name} with the value ${expected.value}` }
  const key = keyOf(expected.value)
  if (values.length > 1) {
    const split = values.every((one) => key.includes(keyOf(one) || one.replace(/[\s"]/g, "")))
    return split
      ? { problem: "split", fix: `The key is spread over ${values.length} records. Make it one TXT record: ${expected.value}` }
      : { problem: "several", fix: `Remove the other TXT records of ${expected.name}; keep ${expected.value}` }
  }
  if (value.includes('"')) return { problem: "quoted", fix: `Take the quotes out of the value: ${expected.value}` }
  const lookup: Lookup = async () => ({ known: true, values, authoritative: true, ttl: null })
  const verdict = await dkimVerdict(lookup, sample)
  if (verdict.result === "pass") return undefined
  if (verdict.result === "unknown") return new Error(verdict.why)
  if (value.includes("\\")) return { problem: "escaped", fix: `Take the backslashes out of the value: ${expected.value}` }
  const found = keyOf(value)
  if (found !== "" && found !== key && key.startsWith(found))
    return {
      problem: "truncated",
      fix: `The key ends after ${found.length} of ${key.length} characters. Enter the whole value, in several strings of one record where the DNS host limits their length: ${expected.value}`,
    }
  if (found !== key) return { problem: "different", fix: `Replace the value by ${expected.value}` }
  return { problem: "refused", fix: `Mail servers refuse the key (${verdict.why}). Replace the value by ${expected.value}` }
}

/** Returns the tag `p`, without white space (RFC 6376 section 3.6.1). */
function keyOf(value: string): string {
  return /(?:^|;)\s*p\s*=([^;]*)/.exec(value)?.[1]?.replace(/\s/g, "") ?? ""
}
