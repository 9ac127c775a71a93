// A rule of the compiler; action types declare theirs likewise.
export type { LintRule as Rule } from "../../contract/lint-rule.ts"
