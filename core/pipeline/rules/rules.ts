// The rules of the compiler, by id; their texts are in rules.json. Action types may add rules of their own.
import type { LintRule } from "../../contract/lint-rule.ts"
import type { Finding } from "../findings.ts"
import texts from "./rules.json" with { type: "json" }

/** The id of a rule of the compiler. */
export type RuleId = keyof typeof texts

/** Ids that rules had in earlier versions, as stored documents may still acknowledge them. */
export const formerRuleIds: Readonly<Record<string, RuleId>> = { "several-responds": "multiple-responds" }

/** The rules of the compiler, by id. */
export const rules = texts as Readonly<Record<RuleId, LintRule>>

/** A finding of the rule; the level is the rule's. */
export function finding(rule: RuleId, pointer: string, message: string, place?: { line: number; column: number }): Finding {
  return { rule, level: rules[rule].level, message, pointer, ...(place && { line: place.line, column: place.column }) }
}
