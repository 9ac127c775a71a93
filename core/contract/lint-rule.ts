// A rule that pipeline documents are held against: what it refuses or warns of, why, and what to do. The pages under
// docs/rules are made of these, and tests compile every example.

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
