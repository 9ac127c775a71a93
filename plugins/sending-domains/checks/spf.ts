// SPF (RFC 7208): one record, which includes ours, within ten look-ups.
import type { Lookup } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../records.ts"
import type { Fault } from "./record-check.ts"

/** RFC 7208 section 4.6.4. */
const maxLookups = 10
const maxVoidLookups = 2

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
  return evaluated(lookup, record, expected.name)
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

/** What a mail server runs into that follows the record's terms (RFC 7208 sections 4.6.4 and 5.2). */
async function evaluated(lookup: Lookup, record: string, name: string): Promise<Fault | Error | undefined> {
  const counts = { lookups: 0, void: 0 }
  const found = await follow({ lookup, counts, within: [name] }, record, name)
  if (found !== undefined) return found
  if (counts.void <= maxVoidLookups) return undefined
  return {
    problem: "too_many_void_lookups",
    fix: `More than ${maxVoidLookups} names of the record have no DNS records, so mail servers refuse it. Remove a, mx and include terms that lead nowhere.`,
  }
}

interface Following {
  readonly lookup: Lookup
  readonly counts: { lookups: number; void: number }
  /** Names whose records are being followed. */
  readonly within: readonly string[]
}

async function follow(following: Following, record: string, name: string): Promise<Fault | Error | undefined> {
  const { lookup, counts, within } = following
  for (const { term, kind, target } of lookupsIn(record, name)) {
    counts.lookups++
    if (counts.lookups > maxLookups) return tooManyLookups
    // What a macro (section 7) leads to depends on the message.
    if (target.includes("%") || (kind === "include" && within.includes(target))) continue
    const type = typeOf[kind]
    if (!type) continue
    const answer = await lookup(target, type)
    if (!answer.known) return new Error(answer.why)
    if (answer.values.length === 0) counts.void++
    if (kind !== "include") continue
    const [inner, ...others] = spfRecords(answer.values)
    if (inner === undefined || others.length > 0) return brokenInclude(term, target, others.length)
    const found = await follow({ ...following, within: [...within, target] }, inner, target)
    if (found !== undefined) return found
  }
  return undefined
}

interface LookupTerm {
  readonly term: string
  /** `include` stands for `redirect` too. */
  readonly kind: "include" | "exists" | "ptr" | "a" | "mx"
  readonly target: string
}

/** The terms of a record that make mail servers ask DNS. */
function lookupsIn(record: string, name: string): LookupTerm[] {
  return termsOf(record).flatMap((term) => {
    const [, kind = "", given = ""] = /^[+?~-]?(include:|redirect=|exists:|ptr|a|mx)(?=[:/=]|$|(?<=[:=]))(.*)$/i.exec(term) ?? []
    if (kind === "") return []
    const plain = kind.toLowerCase().replace(/[:=]$/, "").replace("redirect", "include") as LookupTerm["kind"]
    return [{ term, kind: plain, target: (given.replace(/^:/, "").split("/")[0] || name).toLowerCase() }]
  })
}

/** What is asked of the target; nothing where that depends on the message. */
const typeOf = { include: "TXT", mx: "MX", a: "A", ptr: undefined, exists: undefined } as const

const tooManyLookups: Fault = {
  problem: "too_many_lookups",
  fix: `The record leads to more than ${maxLookups} DNS look-ups, so mail servers refuse it. Remove includes that are not used any more.`,
}

function brokenInclude(term: string, target: string, others: number): Fault {
  const has = others > 0 ? `${others + 1} SPF records` : "no SPF record"
  return {
    problem: "broken_include",
    fix: `${target} has ${has}, so mail servers refuse every record with ${term}. Remove the term, or have the owner of ${target} publish one SPF record.`,
  }
}
