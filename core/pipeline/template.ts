// Compiles templates in JSON values for the compiler. A value with templates becomes a function of the scope. Keys are literal.
import type { Json } from "../contract/collection.ts"
import { childPointer } from "./findings.ts"
import type { Evaluate } from "./graph.ts"
import type { Read } from "./template/reads.ts"
import { compileText } from "./template/text.ts"

export { type Compiled, compileExpression } from "./template/expression.ts"
export type { Read } from "./template/reads.ts"
export { compileText } from "./template/text.ts"

/** A read of a template, with the template's place in the document. */
export interface PlacedRead extends Read {
  /** JSON pointer of the template string. */
  readonly pointer: string
}

export interface TemplateProblem {
  readonly pointer: string
  readonly message: string
}

export interface CompiledJson {
  /** undefined if the value contains no template. */
  readonly evaluate: Evaluate<Json> | undefined
  readonly reads: readonly PlacedRead[]
  readonly problems: readonly TemplateProblem[]
}

/** Compiles the templates within the value at `pointer`. Never throws. */
export function compileJson(value: Json, pointer: string): CompiledJson {
  const reads: PlacedRead[] = []
  const problems: TemplateProblem[] = []
  const evaluate = compileNode(value, pointer, reads, problems)
  return { evaluate, reads, problems }
}

function compileNode(value: Json, pointer: string, reads: PlacedRead[], problems: TemplateProblem[]): Evaluate<Json> | undefined {
  if (typeof value === "string") {
    if (!value.includes("{{") && !value.includes("{%")) return undefined
    const compiled = compileText(value)
    if (!compiled.ok) {
      problems.push(...compiled.problems.map((message) => ({ pointer, message })))
      return () => null
    }
    reads.push(...compiled.reads.map((read) => ({ ...read, pointer })))
    return compiled.evaluate as Evaluate<Json>
  }
  if (Array.isArray(value)) {
    const parts = value.map((element, index) => compileNode(element, childPointer(pointer, index), reads, problems))
    if (parts.every((part) => part === undefined)) return undefined
    return listOf(value, parts)
  }
  if (typeof value !== "object" || value === null) return undefined
  const fields = Object.entries(value).map(
    ([key, element]) => [key, element, compileNode(element, childPointer(pointer, key), reads, problems)] as const,
  )
  if (fields.every(([, , part]) => part === undefined)) return undefined
  return objectOf(fields)
}

function listOf(value: readonly Json[], parts: readonly (Evaluate<Json> | undefined)[]): Evaluate<Json> {
  return (scope) => value.map((element, index) => parts[index]?.(scope) ?? (parts[index] ? null : element))
}

function objectOf(fields: readonly (readonly [string, Json, Evaluate<Json> | undefined])[]): Evaluate<Json> {
  return (scope) => {
    const rendered: Record<string, Json> = {}
    for (const [key, element, part] of fields) rendered[key] = part ? part(scope) : element
    return rendered
  }
}
