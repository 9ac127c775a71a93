// The input of a call through its zod schema: every problem at once, each with a dotted path, unknown fields with a
// guess at what was meant.
import type { z } from "zod"
import { AppError, type FieldProblem } from "../../kernel/errors.ts"
import { didYouMean } from "../../kernel/guess.ts"
import { knownFields } from "./known-fields.ts"
import { refuseDeepNesting } from "./nesting.ts"

const maxProblems = 100

/** Throws `invalid_argument`: with every problem in `details.fields`, or for an input that nests too deep to be looked at. */
export async function parseInput<S extends z.ZodType>(schema: S, raw: unknown): Promise<z.output<S>> {
  refuseDeepNesting(raw)
  const parsed = await schema.safeParseAsync(raw)
  const fields = parsed.success ? reservedName(raw) : problemsOf(schema, parsed.error.issues, [], raw)
  if (parsed.success && fields.length === 0) return parsed.data
  const first = fields[0]
  const place = first?.path ? `"${first.path}": ` : ""
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more, see details.fields)` : ""
  throw new AppError("invalid_argument", `${place}${first?.message ?? "The input is invalid."}${more}`, {
    reason: "invalid_fields",
    fields: fields.slice(0, maxProblems),
  })
}

/** With the `raw` input, what is absent is told apart from what is wrong. */
export function problemsOf(
  schema: z.ZodType,
  issues: readonly z.core.$ZodIssue[],
  base: readonly PropertyKey[] = [],
  raw?: unknown,
): FieldProblem[] {
  return issues.flatMap((issue) => problemOf(schema, issue, [...base, ...issue.path], raw))
}

function problemOf(schema: z.ZodType, issue: z.core.$ZodIssue, path: readonly PropertyKey[], raw: unknown): FieldProblem[] {
  if (issue.code === "unrecognized_keys") {
    const known = knownFields(schema, path)
    return issue.keys.map((key) => ({ path: dotted([...path, key]), message: `Unknown field "${key}".${hint(key, known)}` }))
  }
  if (issue.code === "invalid_union") {
    const branch = meantBranch(issue.errors)
    if (branch) return problemsOf(schema, branch, path, raw)
  }
  // A rule of the declaration's own says more than that something is absent: "give one of url and page".
  if (issue.code !== "custom" && isAbsent(raw, path))
    return [{ path: dotted(path), message: `Required${issue.code === "invalid_type" ? `: ${issue.expected}` : ""}.` }]
  return [{ path: dotted(path), message: issue.message }]
}

/** Whether the object that should hold it is there, and it is not. */
function isAbsent(raw: unknown, path: readonly PropertyKey[]): boolean {
  if (path.length === 0) return false
  let value: unknown = raw
  for (const step of path.slice(0, -1))
    value = typeof value === "object" && value !== null ? (value as Record<PropertyKey, unknown>)[step] : undefined
  return typeof value === "object" && value !== null && (value as Record<PropertyKey, unknown>)[path.at(-1) ?? ""] === undefined
}

/** The one alternative of a union that the value's own type fits, so that its inner problems are worth telling. */
function meantBranch(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | undefined {
  const fitting = branches.filter((issues) => issues.every((issue) => !(issue.path.length === 0 && issue.code === "invalid_type")))
  return fitting.length === 1 ? fitting[0] : undefined
}

/** zod leaves a key `__proto__` out without a word, wherever it stands. */
function reservedName(raw: unknown): FieldProblem[] {
  const path = protoKey(raw)
  return path ? [{ path: dotted(path), message: 'The name "__proto__" is reserved.' }] : []
}

function protoKey(value: unknown): string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const below = key === "__proto__" ? [] : protoKey(inner)
    if (below) return [key, ...below]
  }
  return undefined
}

function hint(key: string, known: readonly string[]): string {
  const guess = didYouMean(key, known)
  if (guess || known.length === 0) return guess
  return known.length <= 20 ? ` Known fields: ${known.join(", ")}.` : ""
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map(String).join(".")
}
