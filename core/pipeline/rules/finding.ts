// Making a finding of a rule: the level is the rule's.
import type { Finding } from "../findings.ts"
import { type RuleId, rules } from "./rules.ts"

export function finding(rule: RuleId, pointer: string, message: string, place?: { line: number; column: number }): Finding {
  return { rule, level: rules[rule].level, message, pointer, ...(place && { line: place.line, column: place.column }) }
}
