// A rule that pipeline documents are held against: what it refuses or warns of, why, and what to do. The pages under
// docs/rules are made of these, and tests compile every example.
import type { DeclarationKind } from "../kernel/registry.ts"

/** A rule that documents are held against; its page under docs/rules is made of it. */
export interface LintRule {
  readonly level: "error" | "warning"
  /** One line. */
  readonly summary: string
  readonly why: string
  readonly remedy: string
  /** Documents in YAML, without their name: the first has the finding, the second has not. A line `---` divides files that lie beside each other. */
  readonly bad: string
  readonly good: string
}

/** A document that compiles, as rules over several documents see it. */
export interface LintedDocument {
  readonly slug: string
  readonly active: boolean
  /** Rules whose warnings its author has read and wants no more. */
  readonly acknowledged: readonly string[]
  readonly request_schema: unknown
  readonly pipeline: readonly Readonly<Record<string, unknown>>[]
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
  /** Slugs of the datasets that it writes to. */
  readonly writesTo: readonly string[]
}

/** A rule that a document breaks only beside others. */
export interface CrossDocumentRule extends LintRule {
  readonly id: string
  /** For each of the documents that lie beside each other, in their order, what it breaks the rule by. Pure. */
  check(documents: readonly LintedDocument[]): readonly ({ readonly message: string; readonly pointer: string } | undefined)[]
}

export const CrossDocumentRules: DeclarationKind<CrossDocumentRule> = { kind: "lint rule", nameOf: ({ id }) => id }
