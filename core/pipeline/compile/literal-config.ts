// A config in which nothing is a template, such as one that a person approved: checked by the action's schema, values as they are.
import type { AnyAction } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { TemplateSlot } from "../../contract/template.ts"
import { AppError, type FieldProblem } from "../../kernel/errors.ts"
import { fieldProblems } from "../../kernel/zod-problems.ts"

/** Throws `invalid_argument` that names the fields; their paths begin with `path`. */
export function literalConfig(action: AnyAction, value: Json, path: string): unknown {
  const parsed = action.config.safeParse(value)
  if (!parsed.success) throw refusal(action, path, fieldProblems({ schema: action.config, value, issues: parsed.error.issues }))
  const problems: FieldProblem[] = []
  const literal = walk(parsed.data, "", problems)
  if (problems.length > 0) throw refusal(action, path, problems)
  return literal
}

function walk(value: unknown, path: string, problems: FieldProblem[]): unknown {
  if (value instanceof TemplateSlot) {
    const checked = value.schema.safeParse(value.source)
    if (checked.success) return checked.data
    for (const problem of fieldProblems({ schema: value.schema, value: value.source, issues: checked.error.issues }))
      problems.push({ ...problem, path: joined(path, problem.path) })
    return undefined
  }
  if (Array.isArray(value)) return value.map((element, index) => walk(element, joined(path, String(index)), problems))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, walk(inner, joined(path, name), problems)]))
}

function joined(path: string, name: string): string {
  return path === "" || name === "" ? path + name : `${path}.${name}`
}

function refusal(action: AnyAction, path: string, problems: readonly FieldProblem[]): AppError {
  const fields = problems.map((problem) => ({ ...problem, path: joined(path, problem.path) }))
  const named = fields.map((field) => `${field.path}: ${field.message}`).join("; ")
  return new AppError("invalid_argument", `This is not valid for ${action.type}. ${named}`, { reason: "invalid_fields", fields })
}
