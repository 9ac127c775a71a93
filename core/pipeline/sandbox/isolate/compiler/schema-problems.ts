// Finds all problems of a JSON Schema. ajv reports only the first problem, and patterns without a place.
import type { Ajv, ErrorObject } from "ajv"
import { childPointer, eachSchema } from "../../json-schema.ts"
import type { ProgramProblem } from "../../sandbox.ts"
import { UnsupportedSchema } from "./schema-dialect.ts"

const maxProblems = 20

/** Finds problems by the meta-schema (`judge`), in patterns and in identifiers. Each place has only its first problem. */
export function shapeProblems(schema: unknown, judge: Ajv): ProgramProblem[] {
  // The meta-schema is synchronous.
  const isValid = judge.validateSchema(schema as boolean | object) as boolean
  const errors = isValid ? [] : (judge.errors ?? [])
  const byPointer = new Map<string, ProgramProblem>()
  for (const problem of [...errors.map(shapeProblem), ...patternProblems(schema), ...identifierProblems(schema, "")]) {
    const { pointer = "" } = problem
    if (!byPointer.has(pointer)) byPointer.set(pointer, problem)
  }
  return [...byPointer.values()].slice(0, maxProblems)
}

/** Collects errors of `compile`. It removes one broken reference after another until the error has another cause. */
export function compileProblems(schema: unknown, error: unknown, compile: (schema: unknown) => void): ProgramProblem[] {
  const problems: ProgramProblem[] = []
  let rest = schema
  for (let thrown = error; thrown !== undefined && problems.length < maxProblems; ) {
    const { problem, reference } = compileProblem(thrown, rest)
    problems.push(problem)
    if (reference === undefined) break
    rest = without(rest, reference)
    thrown = thrownBy(() => compile(rest))
  }
  return problems
}

function thrownBy(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}

function shapeProblem(error: ErrorObject): ProgramProblem {
  return problemAt(error.instancePath, `${error.message ?? "is not a valid schema"} (${error.keyword}).`)
}

function patternProblems(schema: unknown): ProgramProblem[] {
  const problems: ProgramProblem[] = []
  const check = (pattern: string, pointer: string) => {
    const fault = faultOf(pattern)
    if (fault !== undefined) problems.push(problemAt(pointer, `${JSON.stringify(pattern)} is not a regular expression: ${fault}.`))
  }
  eachSchema(schema, ({ pattern, patternProperties }, pointer) => {
    if (typeof pattern === "string") check(pattern, `${pointer}/pattern`)
    if (typeof patternProperties !== "object" || patternProperties === null) return
    for (const key of Object.keys(patternProperties)) check(key, childPointer(`${pointer}/patternProperties`, key))
  })
  return problems
}

/**
 * ajv writes an `$id` into a comment of its generated code. An `$id` that ends the comment is refused in any place. A reference
 * can turn any object into a schema, even data.
 */
function identifierProblems(node: unknown, pointer: string): ProgramProblem[] {
  if (typeof node !== "object" || node === null) return []
  return Object.entries(node).flatMap(([key, value]) =>
    key === "$id" && typeof value === "string" && value.includes("*/")
      ? [problemAt(childPointer(pointer, key), `${JSON.stringify(value.slice(0, 100))} is not an identifier: it can't contain "*/".`)]
      : identifierProblems(value, childPointer(pointer, key)),
  )
}

/** Compiles the pattern with the flag `u`, like the validator. */
function faultOf(pattern: string): string | undefined {
  try {
    new RegExp(pattern, "u")
    return undefined
  } catch (error) {
    return (error as Error).message.replace(/^Invalid regular expression: .*: /s, "")
  }
}

/** `reference` is the place of an unresolved reference, if that is the error. */
function compileProblem(error: unknown, schema: unknown): { problem: ProgramProblem; reference?: string | undefined } {
  if (error instanceof RangeError)
    return { problem: problemAt("", "request_schema is too large, or nests too deep, to be compiled; split or simplify it.") }
  if (!(error instanceof Error)) throw error
  if (error instanceof UnsupportedSchema) return { problem: problemAt(error.pointer, `${error.message}.`) }
  const missing = "missingRef" in error ? String(error.missingRef) : undefined
  if (missing === undefined) return { problem: problemAt("", `request_schema can't be compiled: ${error.message}.`) }
  const reference = pointerToReference(schema, /can't resolve reference (.*) from id/.exec(error.message)?.[1] ?? missing, "")
  const message = `The reference "${missing}" is outside the document, or does not resolve.`
  return { problem: problemAt(reference ?? "", message), reference }
}

function problemAt(pointer: string, message: string): ProgramProblem {
  return { part: "schema", message, pointer }
}

function pointerToReference(at: unknown, reference: string, pointer: string): string | undefined {
  if (typeof at !== "object" || at === null) return undefined
  for (const [key, value] of Object.entries(at)) {
    const here = childPointer(pointer, key)
    if ((key === "$ref" || key === "$dynamicRef") && value === reference) return here
    const found = pointerToReference(value, reference, here)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns a copy without the value at the pointer. */
function without(node: unknown, pointer: string, at = ""): unknown {
  if (typeof node !== "object" || node === null || !pointer.startsWith(at)) return node
  if (Array.isArray(node)) return node.map((each, index) => without(each, pointer, childPointer(at, index)))
  const kept = Object.entries(node).flatMap(([key, value]) => {
    const here = childPointer(at, key)
    return here === pointer ? [] : [[key, without(value, pointer, here)]]
  })
  return Object.fromEntries(kept)
}
