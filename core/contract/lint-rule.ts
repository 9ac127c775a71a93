// A rule for pipeline documents: its finding, the reason and the remedy. Pages under docs/rules come from these rules. Tests
// compile every example.
import type { DeclarationKind } from "../kernel/registry.ts"

/** A rule for pipeline documents. Its page under docs/rules comes from this declaration. */
export interface LintRule {
  readonly level: "error" | "warning"
  /** One line. */
  readonly summary: string
  readonly why: string
  readonly remedy: string
  /** YAML documents without their name. `bad` has the finding, `good` does not. A line `---` separates files of one folder. */
  readonly bad: string
  readonly good: string
}

/** A compiled document, as seen by rules over several documents. */
export interface LintedDocument {
  readonly slug: string
  readonly active: boolean
  /** Rules whose warnings the author has acknowledged. */
  readonly acknowledged: readonly string[]
  readonly request_schema: unknown
  readonly pipeline: readonly Readonly<Record<string, unknown>>[]
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
  /** Slugs of the datasets written by the document. */
  readonly writesTo: readonly string[]
}

/** A rule about several documents together. */
export interface CrossDocumentRule extends LintRule {
  readonly id: string
  /** Returns a finding or undefined for each document, in the same order. Pure. */
  check(documents: readonly LintedDocument[]): readonly ({ readonly message: string; readonly pointer: string } | undefined)[]
}

export const CrossDocumentRules: DeclarationKind<CrossDocumentRule> = { kind: "lint rule", nameOf: ({ id }) => id }
