// Compiles schema and transform in the sandbox. Its problems become findings at their place.
import { didYouMean } from "../../kernel/guess.ts"
import { valueAt } from "../../kernel/json.ts"
import { keysOf } from "../findings.ts"
import type { Program, ProgramProblem } from "../sandbox/sandbox.ts"
import type { CheckedDocument } from "./document-fields.ts"
import type { CompileEnvironment } from "./environment.ts"
import type { Report } from "./report.ts"

/**
 * Returns null if the pipeline has no program, or if the program does not compile and is reported. Rejects with `unavailable` if
 * the sandbox cannot compile now.
 */
export async function compileProgram(
  { document, sound }: CheckedDocument,
  environment: CompileEnvironment,
  report: Report,
): Promise<Program | null> {
  const schema = sound("request_schema") ? document.request_schema : null
  const transform = sound("transform_js") ? document.transform_js : null
  const { program, problems } = await environment.compileProgram({ schema, transform })
  for (const problem of problems.map((one) => inWords(one, schema))) addProblem(problem, report)
  if (!program && problems.length === 0) report.add("invalid-transform", "", "Schema and transform could not be compiled.")
  return program
}

const schemaTypes = ["array", "boolean", "integer", "null", "number", "object", "string"]

/** An unknown type fails every alternative of the meta-schema. This replaces the failures with a single problem. */
function inWords(problem: ProgramProblem, schema: unknown): ProgramProblem {
  const { part, pointer } = problem
  if (part !== "schema" || !pointer?.endsWith("/type")) return problem
  const value = valueAt(schema, keysOf(pointer))
  if (typeof value !== "string") return problem
  const message = `The type ${JSON.stringify(value)} does not exist; types are ${schemaTypes.join(", ")}.${didYouMean(value, schemaTypes)}`
  return { ...problem, message }
}

function addProblem({ part, message, pointer = "", line, column }: ProgramProblem, report: Report): void {
  if (part === "schema") report.add("invalid-schema", `/request_schema${pointer}`, message)
  else if (line === undefined) report.add("invalid-transform", "/transform_js", message)
  else {
    const where = column === undefined ? `Line ${line}` : `Line ${line}, column ${column}`
    report.add("invalid-transform", "/transform_js", `${where}: ${message}`, { line, column: column ?? 1 })
  }
}
