// SPF (RFC 7208): one record, which includes ours, within ten look-ups.
import type { Lookup } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../records.ts"
import type { Fault } from "./record-check.ts"

/** RFC 7208 section 4.6.4. */
const maxLookups = 10

export function spfRecords(values: readonly string[]): string[] {
  return values.filter((value) => /^"?\s*v=spf1(?:[\s"]|$)/i.test(value))
}

/** What is wrong with the one record of a domain that has others besides; an Error where DNS does not tell. */
export async function spfFault(lookup: Lookup, expected: ExpectedRecord, values: readonly string[]): Promise<Fault | Error | undefined> {
  const include = expected.value.split(" ")[1] ?? ""
  const records = spfRecords(values)
  const [record] = records
  if (record === undefined) return { problem: "missing", fix: `Create the TXT record ${expected.name} with the value ${expected.value}` }
  const merged = mergedWith(include, records)
  if (records.length > 1)
    return {
      problem: "several",
      fix: `A domain may have one SPF record, and mail servers take none of ${records.length}. Replace them by one: ${merged}`,
    }
  if (record.includes('"')) return { problem: "quoted", fix: `Take the quotes out of the value: ${merged}` }
  const terms = termsOf(record)
  const all = terms.findIndex((term) => /^[+?~-]?all$/i.test(term))
  const at = terms.findIndex((term) => term.toLowerCase().replace(/^\+/, "") === include)
  if (at < 0 || (all >= 0 && at > all)) return { problem: "different", fix: `Add ${include} in front of "all": ${merged}` }
  const counted = await lookupsOf(lookup, record, [expected.name])
  if (counted instanceof Error || counted <= maxLookups) return counted instanceof Error ? counted : undefined
  return {
    problem: "too_many_lookups",
    fix: `The record leads to more than ${maxLookups} DNS look-ups, so mail servers refuse it. Remove includes that are not used any more.`,
  }
}

function termsOf(record: string): string[] {
  return record.replaceAll('"', "").trim().split(/\s+/).slice(1)
}

/** One record with the terms of all, ours in front of "all". */
function mergedWith(include: string, records: readonly string[]): string {
  const terms = [...new Set(records.flatMap(termsOf).map((term) => term.toLowerCase()))].filter((term) => term !== include)
  const [ends, others] = [terms.filter((term) => /^[+?~-]?all$/.test(term)), terms.filter((term) => !/^[+?~-]?all$/.test(term))]
  return ["v=spf1", ...others, include, ends.at(-1) ?? "~all"].join(" ")
}

/** Look-ups that the record causes, counted no further than one beyond the limit. */
async function lookupsOf(lookup: Lookup, record: string, within: readonly string[]): Promise<number | Error> {
  let count = 0
  for (const term of termsOf(record)) {
    const [, kind = "", target = ""] = /^[+?~-]?(include:|redirect=|exists:|ptr|a|mx)(?=[:/=]|$|(?<=[:=]))(.*)$/i.exec(term) ?? []
    if (kind === "") continue
    count++
    if (count > maxLookups) return count
    if (!/^(?:include:|redirect=)$/i.test(kind) || within.includes(target.toLowerCase())) continue
    const answer = await lookup(target, "TXT")
    if (!answer.known) return new Error(answer.why)
    const inner = await lookupsOf(lookup, spfRecords(answer.values)[0] ?? "", [...within, target.toLowerCase()])
    if (inner instanceof Error) return inner
    count += inner
  }
  return count
}
