// Collects the findings of the compiler, and adds line and column to their pointers.
import { type Finding, finding, type RuleId } from "../findings.ts"
import type { Locate, SourcePosition } from "../parse.ts"

/** Maximum listed findings. Further findings are only counted, to bound the answer. */
const maxFindings = 100
const maxMessage = 500
const maxPointer = 300

export class Report {
  readonly #found: Finding[] = []
  #omitted = 0
  #hasErrors = false
  /** Rules whose warnings the author acknowledged. */
  acknowledged: ReadonlySet<string> = new Set()
  readonly #locate: Locate | undefined

  constructor(locate: Locate | undefined) {
    this.#locate = locate
  }

  /** Returns at most 100 findings, plus a finding with the count of the rest. */
  get findings(): readonly Finding[] {
    const last = this.#found.at(-1)
    if (!last || this.#omitted === 0) return this.#found
    const message = `${this.#omitted} more findings are not shown; correct those above first.`
    return [...this.#found, { rule: last.rule, level: this.#hasErrors ? "error" : "warning", message, pointer: "" }]
  }

  get hasErrors(): boolean {
    return this.#hasErrors
  }

  /** True if further findings would only be counted. */
  get isFull(): boolean {
    return this.#found.length >= maxFindings
  }

  /** Counts findings without a list entry. */
  omit(rule: RuleId, pointer: string, count: number): void {
    if (count <= 0) return
    if (!this.isFull) this.add(rule, pointer, `${count} more of these.`)
    else this.#omitted += count
  }

  /** `inside` is a line and column within the text at the pointer. */
  add(rule: RuleId, pointer: string, message: string, inside?: SourcePosition): void {
    this.push(finding(rule, pointer, message), inside)
  }

  push(found: Finding, inside?: SourcePosition): void {
    if (found.level === "error") this.#hasErrors = true
    else if (this.acknowledged.has(found.rule)) return
    if (this.isFull) {
      this.#omitted++
      return
    }
    const place = this.#locate?.(found.pointer, inside)
    const shown = { ...found, message: cut(found.message, maxMessage), pointer: cut(found.pointer, maxPointer) }
    this.#found.push(place ? { ...shown, ...place } : inside ? { ...shown, inside } : shown)
  }
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
}
