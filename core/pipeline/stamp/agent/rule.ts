// Small ordered tables of patterns: the first that matches decides.

export type Rule = readonly [name: string, pattern: RegExp]

export function firstOf(rules: readonly Rule[], text: string): string {
  return rules.find(([, pattern]) => pattern.test(text))?.[0] ?? ""
}
