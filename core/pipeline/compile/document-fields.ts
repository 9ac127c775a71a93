// Checks each field of the document separately, so a problem in a field does not hide other problems. An invalid field is
// reported and replaced by its default.
import type { z } from "zod"
import { didYouMean } from "../../kernel/guess.ts"
import { protoKey } from "../../kernel/json.ts"
import { kindOf } from "../../kernel/zod-problems.ts"
import { CommonActionFields, documentFields, maxSteps, PipelineDocument } from "../document.ts"
import { childPointer, pointerTo } from "../findings.ts"
import { schemaProblems } from "./config.ts"
import type { Report } from "./report.ts"

/** The document with every field present, and the original actions. */
export interface CheckedDocument {
  readonly document: PipelineDocument
  /** Returns false for an invalid field with a default in its place. */
  readonly sound: (field: keyof PipelineDocument) => boolean
}

export interface RawAction {
  readonly pointer: string
  readonly fields: Readonly<Record<string, unknown>>
}

const fields: Record<string, z.ZodType> = { slug: PipelineDocument.shape.slug, ...documentFields }
/** Defaults of absent fields. Only the name is required. */
const fallbacks = PipelineDocument.parse({ name: "?" })
const maxDepth = 100
/** Maximum unknown fields to report individually. */
const maxUnknown = 50
/** Maximum values of a document, without its schema. A larger document takes too long to check, and no person writes it. */
const maxValues = 20_000

export const commonFieldNames: readonly string[] = Object.keys(CommonActionFields.shape)

export function checkDocument(given: unknown, report: Report): CheckedDocument | undefined {
  if (!isReadable(given, report)) return undefined
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(fields, key))
  report.omit("unknown-field", "", unknown.length - maxUnknown)
  for (const key of unknown.slice(0, maxUnknown)) {
    const hint = didYouMean(key, Object.keys(fields))
    report.add("unknown-field", childPointer("", key), `A pipeline has no field "${key}".${hint}`)
  }
  const refused = new Set<string>()
  const document: Record<string, unknown> = { ...fallbacks }
  for (const [key, schema] of Object.entries(fields)) {
    const value = Object.hasOwn(given, key) ? given[key] : undefined
    if (value === undefined && key !== "name") continue
    const taken = checkField(key, schema, value, report)
    if (taken === undefined) refused.add(key)
    else if (taken.value !== undefined) document[key] = taken.value
  }
  // The excess is already reported. Compile time grows with the square of the steps, so compilation ends here.
  if ((document["pipeline"] as unknown[]).length > maxSteps) return undefined
  return { document: document as PipelineDocument, sound: (field) => !refused.has(field) }
}

/** Returns the value of the field for later stages. Returns undefined if the value was refused. */
function checkField(key: string, schema: z.ZodType, value: unknown, report: Report): { value: unknown } | undefined {
  const checked = schema.safeParse(value)
  if (checked.success) return { value: checked.data }
  // The elements of these fields are checked individually, with their action types.
  const elementwise = (key === "pipeline" && Array.isArray(value)) || (key === "handlers" && kindOf(value) === "an object")
  const issues = elementwise ? checked.error.issues.filter((issue) => issue.path.length === 0) : checked.error.issues
  for (const problem of schemaProblems({ issues, schema, value }, childPointer("", key))) {
    report.add(problem.rule, problem.pointer, value === undefined ? `The field "${key}" is missing.` : problem.message)
  }
  return elementwise ? { value } : undefined
}

function isReadable(given: unknown, report: Report): given is Record<string, unknown> {
  if (kindOf(given) !== "an object") {
    report.add("invalid-field", "", `A pipeline is an object with a name and a list of actions; this is ${kindOf(given)}.`)
    return false
  }
  if (depthOf(given) > maxDepth) {
    report.add("invalid-field", "", `The document is nested more than ${maxDepth} levels deep.`)
    return false
  }
  const { request_schema: _, ...rest } = given as Record<string, unknown>
  if (countOf(rest, maxValues) > maxValues) {
    report.add("invalid-field", "", `The document holds more than ${maxValues} values.`)
    return false
  }
  const proto = protoKey(given)
  if (proto !== undefined) report.add("invalid-field", pointerTo(proto), 'A key cannot be named "__proto__".')
  return proto === undefined
}

/** Counts values at any depth. Stops after `most`. */
function countOf(value: unknown, most: number): number {
  if (typeof value !== "object" || value === null) return 1
  let count = 1
  for (const key in value) {
    count += countOf((value as Record<string, unknown>)[key], most - count)
    if (count > most) break
  }
  return count
}

/** Returns the objects among the elements and reports the others. */
export function rawActions(elements: readonly (readonly [pointer: string, element: unknown])[], report: Report): RawAction[] {
  return elements.flatMap(([pointer, element]) => {
    if (kindOf(element) === "an object") return [{ pointer, fields: element as Record<string, unknown> }]
    report.add("invalid-field", pointer, `An action is an object with a type; this is ${kindOf(element)}.`)
    return []
  })
}

function depthOf(value: unknown): number {
  let level = [value]
  let depth = 0
  while (level.length > 0 && depth <= maxDepth) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []))
    if (level.length > 0) depth++
  }
  return depth
}
