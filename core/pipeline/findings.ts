// Findings of the compiler. Each finding has a place in the document.
import type { LintRule } from "../contract/lint-rule.ts"
import texts from "./rules/rules.json" with { type: "json" }

export type FindingLevel = "error" | "warning"

/** A problem in a document, with its place. */
export interface Finding {
  /** Kebab-case id of the rule; `docs/rules/<rule>.md` explains it. */
  readonly rule: string
  readonly level: FindingLevel
  readonly message: string
  /** JSON pointer into the document. "" points to the whole document. */
  readonly pointer: string
  /** Counts from 1. Set if the document came from text. */
  readonly line?: number
  readonly column?: number
  /** Place within the text value at the pointer, such as a script. Set if the document's text is unknown. */
  readonly inside?: { readonly line: number; readonly column: number }
}

interface FramePlace {
  readonly line: number
  readonly column: number
}

/** Shows two lines before the place and one line after it. Long lines are cut around the place. */
export function codeFrame(text: string, { line, column }: FramePlace): string {
  const lines = text.split(/\r?\n/)
  if (line > lines.length) return ""
  const [from, to] = [Math.max(1, line - 2), Math.min(lines.length, line + 1)]
  const width = String(to).length
  const cut = Math.max(0, column - 80)
  const shown: string[] = []
  for (let number = from; number <= to; number++) {
    const content = (lines[number - 1] ?? "").slice(cut, cut + 140).replaceAll("\t", " ")
    if (number === to && number !== line && content.trim() === "") continue
    shown.push(`${number === line ? ">" : " "} ${String(number).padStart(width)} | ${content}`.trimEnd())
    if (number === line) shown.push(`  ${" ".repeat(width)} | ${" ".repeat(Math.max(0, column - 1 - cut))}^`)
  }
  return shown.join("\n")
}

// Rules of the compiler, by id. Their texts are in rules.json. Action types may add rules of their own.

/** Id of a rule of the compiler. */
export type RuleId = keyof typeof texts

/** Rule ids of earlier versions. Stored documents may still acknowledge them. */
export const formerRuleIds: Readonly<Record<string, RuleId>> = { "several-responds": "multiple-responds" }

/** Rules of the compiler, by id. */
export const rules = texts as Readonly<Record<RuleId, LintRule>>

/** Creates a finding with the level of the rule. */
export function finding(rule: RuleId, pointer: string, message: string, place?: { line: number; column: number }): Finding {
  return { rule, level: rules[rule].level, message, pointer, ...(place && { line: place.line, column: place.column }) }
}

// JSON pointers (RFC 6901) to places in a document.

/** Returns the pointer to a field or element of the value at `parent`. */
export function childPointer(parent: string, key: PropertyKey): string {
  const name = String(key)
  return `${parent}/${/[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name}`
}

export function pointerTo(path: readonly PropertyKey[], parent = ""): string {
  return path.reduce<string>(childPointer, parent)
}

/** Returns the unescaped keys of a pointer. The whole document has no keys. */
export function keysOf(pointer: string): string[] {
  if (pointer === "") return []
  return pointer
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
}
