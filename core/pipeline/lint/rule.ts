// A rule of the compiler: what it refuses or warns of, why, and what to do. The pages under docs/rules are made of
// these; the tests compile every example.
import type { FindingLevel } from "../findings.ts"

export interface Rule {
  readonly level: FindingLevel
  /** One line. */
  readonly summary: string
  readonly why: string
  readonly remedy: string
  /** Documents in YAML, without their name: the first has the finding, the second has not. */
  readonly bad: string
  readonly good: string
}
