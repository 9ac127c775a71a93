// The terms of SPF records (RFC 7208), parsed for advice. The verdict comes from mailauth, not from this file.

/** Returns the SPF records among the values, including quoted records. */
export function spfRecords(values: readonly string[]): string[] {
  return values.filter((value) => /^"?\s*v=spf1(?:[\s"]|$)/i.test(value))
}

export function termsOf(record: string): string[] {
  return record.replaceAll('"', "").trim().split(/\s+/).slice(1)
}

export function isAll(term: string): boolean {
  return /^[+?~-]?all$/i.test(term)
}

/** Returns the terms evaluated by receivers: up to the first "all", then modifiers. Redirects count only without "all". */
export function readTerms(record: string): string[] {
  const terms = termsOf(record)
  const end = terms.findIndex(isAll)
  return end < 0 ? terms : terms.slice(0, end + 1)
}

const mechanism = /^[+?~-]?(?:all|include:\S+|exists:\S+|(?:a|mx)(?:[:/]\S+)?|ptr(?::\S+)?|ip4:[\d./]+|ip6:[\da-f:./]+)$/i
const modifier = /^[a-z][a-z0-9._-]*=\S*$/i

/**
 * Returns candidate records with our include and the existing terms, the most similar first. A receiver may refuse the most
 * similar candidate, for example if a customer's term fails our servers.
 */
export function mergedRecords(include: string, records: readonly string[]): string[] {
  const own = (term: string) => term.toLowerCase().replace(/^[+?~-]/, "") === include
  const given = records.flatMap(termsOf).filter((term) => mechanism.test(term) || modifier.test(term))
  const all = given.filter(isAll).at(-1)
  const others = unique(given.filter((term) => !isAll(term) && !own(term)))
  const redirects = others.filter((term) => /^redirect=/i.test(term))
  // A redirect counts only at the end of a record.
  const kept = all === undefined && redirects.length === 1 ? others : others.map((term) => term.replace(/^redirect=/i, "include:"))
  const end = all ?? (kept === others && redirects.length === 1 ? undefined : "~all")
  const text = (terms: readonly (string | undefined)[]) => ["v=spf1", ...terms.filter((term) => term !== undefined)].join(" ")
  return [text([...kept, include, end]), text([include, ...kept, end]), text([include, "~all"])]
}

function unique(terms: readonly string[]): string[] {
  const seen = new Set<string>()
  return terms.filter((term) => !seen.has(term.toLowerCase()) && seen.add(term.toLowerCase()))
}
