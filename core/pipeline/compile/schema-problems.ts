// What zod says of a value, as findings: one per unknown field with "did you mean", unions reduced to the alternative
// that was most likely meant, messages that name the expected and the received kind.
import type { z } from "zod"
import { didYouMean } from "../../kernel/guess.ts"
import { knownFields } from "../../kernel/known-fields.ts"
import { childPointer, pointerTo } from "../pointer.ts"

export interface SchemaProblem {
  readonly rule: "unknown-field" | "invalid-field"
  readonly pointer: string
  readonly message: string
}

type Issue = z.core.$ZodIssue

/** Unknown fields of one object that are named one by one. */
export const maxUnknown = 50

/** `pointer` is where the checked value stands; `alsoKnown` are further fields that its top level may have. */
export function schemaProblems(
  issues: readonly Issue[],
  schema: z.ZodType,
  value: unknown,
  pointer: string,
  alsoKnown: readonly string[] = [],
): SchemaProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") return unknownFields(issue, schema, pointer, alsoKnown)
    if (issue.code === "invalid_union") return unionProblems(issue, schema, value, pointer, alsoKnown)
    return [{ rule: "invalid-field", pointer: pointerTo(issue.path, pointer), message: messageOf(issue, value) }] as const
  })
}

/** `string`, `list`, `nothing`, ...: the kind of a value, which a message may show where the value itself may be secret. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return value === null ? "null" : "nothing"
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`
}

function unknownFields(
  issue: z.core.$ZodIssueUnrecognizedKeys,
  schema: z.ZodType,
  pointer: string,
  alsoKnown: readonly string[],
): SchemaProblem[] {
  const holder = pointerTo(issue.path, pointer)
  const known = [...knownFields(schema, issue.path), ...(issue.path.length === 0 ? alsoKnown : [])]
  const named = issue.keys.slice(0, maxUnknown).map((key) => ({
    rule: "unknown-field" as const,
    pointer: childPointer(holder, key),
    message: `There is no field "${key}" here.${didYouMean(key, known) || listed(known)}`,
  }))
  const more = issue.keys.length - named.length
  return more > 0 ? [...named, { rule: "unknown-field", pointer: holder, message: `${more} more unknown fields.` }] : named
}

function unionProblems(
  issue: z.core.$ZodIssueInvalidUnion,
  schema: z.ZodType,
  value: unknown,
  pointer: string,
  alsoKnown: readonly string[],
): SchemaProblem[] {
  const branches = issue.errors.map((errors) => errors.map((error) => ({ ...error, path: [...issue.path, ...error.path] }) as Issue))
  const template = branches.find((branch) => branch.some((one) => one.message.startsWith("expected a template")))
  const plain = branches.filter((branch) => branch !== template)
  const nearest = [...plain].sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0]
  if (!nearest) return [{ rule: "invalid-field", pointer: pointerTo(issue.path, pointer), message: "No alternative fits." }]
  const atTop = plain.filter((branch) => branch.every((one) => one.path.length === issue.path.length))
  if (plain.length > 1 && atTop.length === plain.length) {
    const messages = new Set(atTop.flatMap((branch) => branch.map((one) => messageOf(one, value))))
    return [{ rule: "invalid-field", pointer: pointerTo(issue.path, pointer), message: [...messages].join(" Or: ") }]
  }
  const problems = schemaProblems(nearest, schema, value, pointer, alsoKnown)
  const whole = nearest.every((one) => one.path.length === issue.path.length)
  return template && whole && valueAt(value, issue.path) !== undefined
    ? problems.map((problem) => ({
        ...problem,
        message: `${problem.message.replace(/\.$/, "")}, or a template such as {{ event.field }}.`,
      }))
    : problems
}

function depth(branch: readonly Issue[]): number {
  const deepest = Math.max(...branch.map((issue) => issue.path.length))
  const wrongKind = branch.some(
    (issue) => issue.code === "invalid_type" && issue.path.length === Math.min(...branch.map((i) => i.path.length)),
  )
  return wrongKind ? -1 : deepest
}

function messageOf(issue: Issue, value: unknown): string {
  const given = valueAt(value, issue.path)
  if (issue.code === "invalid_type") {
    if (given === undefined) return `The field "${String(issue.path.at(-1) ?? "")}" is missing; it takes ${article(issue.expected)}.`
    return `Expected ${article(issue.expected)}, found ${kindOf(given)}.`
  }
  if (issue.code === "invalid_value") {
    const allowed = issue.values.map((one) => JSON.stringify(one) ?? String(one))
    const words = issue.values.filter((one) => typeof one === "string")
    const hint = typeof given === "string" ? didYouMean(given, words) : ` It is ${kindOf(given)}.`
    return `Expected ${allowed.length > 1 ? "one of " : ""}${allowed.join(", ")}.${hint}`
  }
  const text = issue.message.trim()
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`
}

function article(kind: string): string {
  if (kind === "array") return "a list"
  if (kind === "record") return "an object"
  if (kind === "int") return "a whole number"
  return `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value
  for (const key of path) {
    if (typeof at !== "object" || at === null) return undefined
    at = (at as Record<PropertyKey, unknown>)[key]
  }
  return at
}

function listed(known: readonly string[]): string {
  return known.length === 0 || known.length > 30 ? "" : ` There are: ${known.join(", ")}.`
}
