// What the compiler has to say about a document: every problem at once, each with the place it stands at.
import type { LintRule } from "../contract/lint-rule.ts"
import texts from "./rules/rules.json" with { type: "json" }

export type FindingLevel = "error" | "warning"

/** One thing that the compiler has to say of a document, with its place. */
export interface Finding {
  /** Kebab-case id of the rule; `docs/rules/<rule>.md` explains it. */
  readonly rule: string
  readonly level: FindingLevel
  readonly message: string
  /** JSON pointer into the document, "" for the whole. */
  readonly pointer: string
  /** From 1; known when the document came from text. */
  readonly line?: number
  readonly column?: number
  /** Where no text is known: the place within the text value that the pointer names, such as a script. */
  readonly inside?: { readonly line: number; readonly column: number }
}

interface FramePlace {
  readonly line: number
  readonly column: number
}

/** Two lines before and one after; long lines are cut around the place. */
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

// The rules of the compiler, by id; their texts are in rules.json. Action types may add rules of their own.

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

// JSON pointers (RFC 6901): how findings name places in a document.

/** The pointer to a field or element of what `parent` points to. */
export function childPointer(parent: string, key: PropertyKey): string {
  const name = String(key)
  return `${parent}/${/[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name}`
}

export function pointerTo(path: readonly PropertyKey[], parent = ""): string {
  return path.reduce<string>(childPointer, parent)
}

/** The keys of a pointer, unescaped; none for the whole document. */
export function keysOf(pointer: string): string[] {
  if (pointer === "") return []
  return pointer
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
}
