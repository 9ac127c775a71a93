// Counts the DNS lookups of a whole SPF record (RFC 7208 sections 4.6.4 and 5.2). Some receivers stop at an early match of our
// include. Others resolve the whole record first, and refuse it for a later fault.
import type { Lookup } from "../dns/lookup.ts"
import type { Fault } from "./record-check.ts"
import { isAll, readTerms, spfRecords } from "./spf-terms.ts"

const maxLookups = 10
const maxVoidLookups = 2

/** Returns the fault of the record's lookups, or an Error if DNS does not answer. */
export async function lookupFault(lookup: Lookup, record: string, name: string): Promise<Fault | Error | undefined> {
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
  /** Names on the path to the current record. */
  readonly within: readonly string[]
}

async function follow(following: Following, record: string, name: string): Promise<Fault | Error | undefined> {
  const { lookup, counts, within } = following
  for (const { term, kind, target } of lookupsIn(record, name)) {
    counts.lookups++
    if (counts.lookups > maxLookups) return tooManyLookups
    // The target of a macro (section 7) depends on the message.
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

export interface LookupTerm {
  readonly term: string
  /** `include` also represents `redirect`. */
  readonly kind: "include" | "exists" | "ptr" | "a" | "mx"
  readonly target: string
}

/** Returns the terms of a record that cause DNS lookups. */
export function lookupsIn(record: string, name: string): LookupTerm[] {
  const terms = readTerms(record)
  const ends = terms.some(isAll)
  return terms.flatMap((term) => {
    const [, kind = "", given = ""] = /^[+?~-]?(include:|redirect=|exists:|ptr|a|mx)(?=[:/=]|$|(?<=[:=]))(.*)$/i.exec(term) ?? []
    if (kind === "" || (ends && /^redirect/i.test(kind))) return []
    const plain = kind.toLowerCase().replace(/[:=]$/, "").replace("redirect", "include") as LookupTerm["kind"]
    return [{ term, kind: plain, target: (given.replace(/^:/, "").split("/")[0] || name).toLowerCase() }]
  })
}

/** Record type of the lookup. Absent if the question depends on the message. */
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
