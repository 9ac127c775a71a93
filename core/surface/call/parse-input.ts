// The input of a call through its zod schema: every problem at once, each with a dotted path, unknown fields with a
// guess at what was meant.
import type { z } from "zod"
import { AppError, type FieldProblem } from "../../kernel/errors.ts"
import { didYouMean } from "../../kernel/guess.ts"
import { knownFields } from "../../kernel/known-fields.ts"
import { refuseDeepNesting } from "./nesting.ts"

export const maxProblems = 100
/** Longer names of fields are cut where they are shown. */
const maxShownName = 100

/** Throws `invalid_argument`: with the first hundred problems in `details.fields` and how many there are in `details.problems`, or for an input that nests too deep to be looked at. */
export async function parseInput<S extends z.ZodType>(schema: S, raw: unknown): Promise<z.output<S>> {
  refuseDeepNesting(raw)
  const parsed = await schema.safeParseAsync(raw)
  const problems = new Problems(schema, raw)
  if (parsed.success) problems.addReservedName()
  else problems.add(parsed.error.issues, [])
  const { fields, count } = problems
  if (parsed.success && count === 0) return parsed.data
  const first = fields[0]
  const place = first?.path ? `"${first.path}": ` : ""
  const more = count > 1 ? ` (and ${count - 1} more, see details.fields)` : ""
  throw new AppError("invalid_argument", `${place}${first?.message ?? "The input is invalid."}${more}`, {
    reason: "invalid_fields",
    fields,
    ...(count > fields.length ? { problems: count } : {}),
  })
}

/** Describes problems up to the limit, and counts the rest: a hostile input has as many as it has bytes. */
class Problems {
  readonly fields: FieldProblem[] = []
  count = 0
  readonly #schema: z.ZodType
  /** What is absent is told apart from what is wrong. */
  readonly #raw: unknown

  constructor(schema: z.ZodType, raw: unknown) {
    this.#schema = schema
    this.#raw = raw
  }

  add(issues: readonly z.core.$ZodIssue[], base: readonly PropertyKey[]): void {
    for (const issue of issues) this.#addOne(issue, [...base, ...issue.path])
  }

  /** zod leaves a key `__proto__` out without a word, wherever it stands. */
  addReservedName(): void {
    const path = protoKey(this.#raw)
    if (path) this.#tell(path, () => 'The name "__proto__" is reserved.')
  }

  #addOne(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): void {
    if (issue.code === "unrecognized_keys") {
      const known = this.#isFull ? [] : knownFields(this.#schema, path)
      for (const key of issue.keys) this.#tell([...path, key], () => `Unknown field "${shown(key)}".${hint(key, known)}`)
      return
    }
    if (issue.code === "invalid_union") {
      const branch = meantBranch(issue.errors)
      if (branch) {
        this.add(branch, path)
        return
      }
    }
    // A rule of the declaration's own says more than that something is absent: "give one of url and page".
    const absent = issue.code !== "custom" && isAbsent(this.#raw, path)
    const required = `Required${issue.code === "invalid_type" ? `: ${issue.expected}` : ""}.`
    this.#tell(path, () => (absent ? required : issue.message))
  }

  get #isFull(): boolean {
    return this.fields.length >= maxProblems
  }

  #tell(path: readonly PropertyKey[], message: () => string): void {
    this.count++
    if (!this.#isFull) this.fields.push({ path: path.map(shown).join("."), message: message() })
  }
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

function protoKey(value: unknown): string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const below = key === "__proto__" ? [] : protoKey(inner)
    if (below) return [key, ...below]
  }
  return undefined
}

function hint(key: string, known: readonly string[]): string {
  const guess = didYouMean(shown(key), known)
  if (guess || known.length === 0) return guess
  return known.length <= 20 ? ` Known fields: ${known.join(", ")}.` : ""
}

function shown(step: PropertyKey): string {
  const name = String(step)
  return name.length > maxShownName ? `${name.slice(0, maxShownName)}…` : name
}
