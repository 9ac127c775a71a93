// Compiles the fields of an action. It checks them against the action's schema once and parses the template slots. The result is
// a function: it renders and checks a config per event, or returns a constant config.
import type { z } from "zod"
import type { AnyAction } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { TemplateSlot } from "../../contract/template.ts"
import { AppError, type FieldProblem } from "../../kernel/errors.ts"
import { isPlainObject } from "../../kernel/json.ts"
import { fieldProblems, kindOf, type RefusedValue, zodProblems } from "../../kernel/zod-problems.ts"
import { childPointer, pointerTo } from "../findings.ts"
import type { Evaluate } from "../graph.ts"
import { compileJson, type PlacedRead, type TemplateProblem } from "../template.ts"

export interface CompiledConfig {
  /** Output of the schema, including slots. undefined for invalid fields. */
  readonly parsed: unknown
  readonly evaluate: Evaluate<unknown>
  readonly reads: readonly PlacedRead[]
  readonly schemaProblems: readonly SchemaProblem[]
  readonly templateProblems: readonly TemplateProblem[]
}

/** `fields` are the action's own fields at `pointer`, without the common fields. Never throws. */
export function compileConfig(action: AnyAction, fields: unknown, pointer: string, commonFields: readonly string[]): CompiledConfig {
  const notes = new Notes()
  const parsed = action.config.safeParse(fields)
  if (!parsed.success) {
    const problems = schemaProblems({ issues: parsed.error.issues, schema: action.config, value: fields, alsoKnown: commonFields }, pointer)
    // Checks the templates as well, so a single report has all problems.
    const { reads, problems: templateProblems } = compileJson(fields as never, pointer)
    return { parsed: undefined, evaluate: () => undefined, reads, schemaProblems: problems, templateProblems }
  }
  const evaluate = compileValue(parsed.data, pointer, pointer, notes)
  const constant: unknown = evaluate ? undefined : notes.constant(parsed.data)
  return {
    parsed: parsed.data,
    evaluate: evaluate ?? (() => constant),
    reads: notes.reads,
    schemaProblems: notes.schemaProblems,
    templateProblems: notes.templateProblems,
  }
}

class Notes {
  readonly reads: PlacedRead[] = []
  readonly schemaProblems: SchemaProblem[] = []
  readonly templateProblems: TemplateProblem[] = []
  readonly #constants = new Map<TemplateSlot, unknown>()

  keep(slot: TemplateSlot, value: unknown): void {
    this.#constants.set(slot, value)
  }

  /** Replaces the slots of a value with their constants. */
  constant(value: unknown): unknown {
    if (value instanceof TemplateSlot) return this.#constants.get(value)
    if (Array.isArray(value)) return value.map((element) => this.constant(element))
    if (!isPlainObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, element]) => [key, this.constant(element)]))
  }
}

/** Returns undefined if the value contains no template. */
function compileValue(value: unknown, pointer: string, root: string, notes: Notes): Evaluate<unknown> | undefined {
  if (value instanceof TemplateSlot) return compileSlot(value, pointer, root, notes)
  if (Array.isArray(value)) {
    const parts = value.map((element, index) => compileValue(element, childPointer(pointer, index), root, notes))
    if (parts.every((part) => part === undefined)) return undefined
    return listOf(
      value.map((element) => notes.constant(element)),
      parts,
    )
  }
  if (!isPlainObject(value)) return undefined
  const fields = Object.entries(value).map(([key, element]) => {
    const part = compileValue(element, childPointer(pointer, key), root, notes)
    return [key, part, part ? undefined : notes.constant(element)] as const
  })
  return fields.every(([, part]) => part === undefined) ? undefined : objectOf(fields)
}

// These closures keep references only to their rendered parts. They stay in memory for every step of every pipeline in use.

function listOf(fixed: readonly unknown[], parts: readonly (Evaluate<unknown> | undefined)[]): Evaluate<unknown> {
  return (scope) => fixed.map((element, index) => (parts[index] ? parts[index](scope) : element))
}

function objectOf(fields: readonly (readonly [string, Evaluate<unknown> | undefined, unknown])[]): Evaluate<unknown> {
  return (scope) => {
    const rendered: Record<string, unknown> = {}
    for (const [key, part, fixed] of fields) rendered[key] = part ? part(scope) : fixed
    return rendered
  }
}

function compileSlot(slot: TemplateSlot, pointer: string, root: string, notes: Notes): Evaluate<unknown> | undefined {
  const { evaluate, reads, problems } = compileJson(slot.source, pointer)
  notes.reads.push(...reads)
  notes.templateProblems.push(...problems)
  const { schema, takesAny } = slot
  if (!evaluate) {
    const checked = schema.safeParse(slot.source)
    if (checked.success) notes.keep(slot, checked.data)
    else notes.schemaProblems.push(...schemaProblems({ issues: checked.error.issues, schema, value: slot.source }, pointer))
    return undefined
  }
  const field = pointer.slice(root.length + 1).replaceAll("/", ".")
  return takesAny ? freeField(evaluate, field) : checkedField(evaluate, schema, field)
}

function freeField(evaluate: Evaluate<unknown>, field: string): Evaluate<unknown> {
  return (scope) => renderField(evaluate, scope, field)
}

function checkedField(evaluate: Evaluate<unknown>, schema: z.ZodType, field: string): Evaluate<unknown> {
  return (scope) => {
    const rendered = renderField(evaluate, scope, field)
    const checked = schema.safeParse(rendered)
    if (checked.success) return checked.data
    const problem = schemaProblems({ issues: checked.error.issues, schema, value: rendered }, "")[0]
    const path = problem?.pointer ? `${field}${problem.pointer.replaceAll("/", ".")}` : field
    const message = `The field "${path}" rendered to ${kindOf(rendered)}, which is not valid. ${problem?.message ?? ""}`.trim()
    throw new AppError("invalid_argument", message, {
      reason: "invalid_rendered_value",
      retryable: false,
      fields: [{ path, message: problem?.message ?? "does not fit" }],
    })
  }
}

function renderField(evaluate: Evaluate<unknown>, scope: Parameters<Evaluate<unknown>>[0], field: string): unknown {
  try {
    return evaluate(scope)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const message = `The template of "${field}" cannot be rendered. ${error.message}`
    const details = { ...error.details, fields: [{ path: field, message: error.message }] }
    throw AppError.from({ code: error.code, message, details }, { cause: error })
  }
}

interface SchemaProblem {
  readonly rule: "unknown-field" | "invalid-field"
  readonly pointer: string
  readonly message: string
}

/** `pointer` is the place of the checked value. */
export function schemaProblems(refused: RefusedValue, pointer: string): SchemaProblem[] {
  const { problems, count } = zodProblems(refused)
  const found = problems.map(({ kind, path, message }): SchemaProblem => {
    const named = kind === "missing" && path.length > 0 ? `"${String(path.at(-1))}" is missing. ${message}` : message
    return { rule: kind === "unknown" ? "unknown-field" : "invalid-field", pointer: pointerTo(path, pointer), message: named }
  })
  const more = count - found.length
  return more > 0 ? [...found, { rule: "invalid-field", pointer, message: `${more} more problems here.` }] : found
}

// Checks a config without templates against the action's schema, for example an approved config. Its values are literal.

/** Throws `invalid_argument` with the invalid fields. Their paths begin with `path`. */
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
