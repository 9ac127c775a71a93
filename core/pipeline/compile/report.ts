// Where the parts of the compiler put what they find; pointers get their line and column here, once for all.
import type { Finding } from "../findings.ts"
import { finding } from "../lint/finding.ts"
import type { RuleId } from "../lint/rules.ts"
import type { Locate, Place } from "../parse.ts"

export class Report {
  readonly findings: Finding[] = []
  readonly #locate: Locate | undefined

  constructor(locate: Locate | undefined) {
    this.#locate = locate
  }

  get hasErrors(): boolean {
    return this.findings.some((one) => one.level === "error")
  }

  /** `inside` is a line and column within the text that stands at the pointer. */
  add(rule: RuleId, pointer: string, message: string, inside?: Place): void {
    this.push(finding(rule, pointer, message), inside)
  }

  push(found: Finding, inside?: Place): void {
    const place = this.#locate?.(found.pointer, inside)
    this.findings.push(place ? { ...found, ...place } : found)
  }
}
