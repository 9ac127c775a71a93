// Small ordered tables of patterns: the first that matches decides.

export type Rule = readonly [name: string, pattern: RegExp]

export function firstOf(rules: readonly Rule[], text: string): string {
  return rules.find(([, pattern]) => pattern.test(text))?.[0] ?? ""
}

/** Finds any of the names, which stand one after another with spaces between (`_` for a space within one); not inside a longer word. */
export function anyOf(names: string, flags = "i"): RegExp {
  const each = names
    .trim()
    .split(/\s+/)
    .map((name) => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replaceAll("_", "[ _]?"))
  return new RegExp(`(?<![A-Za-z])(?:${each.join("|")})`, flags)
}
