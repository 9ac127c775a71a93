// All rules of the compiler, by id. Action types may add remarks of their own under ids of their own.

import type { Rule } from "./rule.ts"
import { actionRules } from "./rules-actions.ts"
import { flowRules } from "./rules-flow.ts"
import { sourceRules } from "./rules-source.ts"

export type { Rule } from "./rule.ts"

const all = { ...sourceRules, ...actionRules, ...flowRules }

/** The id of a rule of the compiler. */
export type RuleId = keyof typeof all

/** Ids that rules had in earlier versions, as stored documents may still acknowledge them. */
export const formerRuleIds: Readonly<Record<string, RuleId>> = { "several-responds": "multiple-responds" }

/** The rules of the compiler, by id. */
export const rules: Readonly<Record<RuleId, Rule>> = all
