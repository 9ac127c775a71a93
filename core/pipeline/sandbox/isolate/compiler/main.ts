// Entry of the compiler in its isolate. It compiles a schema and a transform from text. It returns JSON with the program's
// sources or its problems. ajv creates functions from text only in this isolate.
import type { Compiled } from "../../compile-child.ts"
import { mappedSchema } from "./mapped-schema.ts"
import { transformSource } from "./transform-source.ts"
import { validatorSource } from "./validator-source.ts"

/**
 * `schemaText` is "" without a schema. `transform` is null without a transform, and `entry` names its function. Returns JSON of
 * Compiled.
 */
export function compile(schemaText: string, transform: string | null, entry: string): string {
  const schema: unknown = schemaText === "" ? null : JSON.parse(schemaText)
  const validator = schemaText === "" ? null : validatorSource(schema)
  const transformed = transform === null ? null : transformSource(transform, entry)
  const check = schemaText === "" ? null : mappedSchema(schema)
  const result = transformed && "text" in transformed ? transformed.mapped : null
  const compiled: Compiled = {
    validator: validator && "text" in validator ? validator.text : null,
    transform: transformed && "text" in transformed ? transformed.text : null,
    fields: transformed && "text" in transformed ? transformed.fields : null,
    mapping: (schemaText === "" || check) && (transform === null || result) ? { check, result } : null,
    problems: [validator, transformed].flatMap((each) => (each && "problems" in each ? each.problems : [])),
  }
  return JSON.stringify(compiled)
}

/** Compiles the common parts of every program in advance, mainly the meta-schema. */
export function warm(): void {
  compile(
    '{"type":"object","properties":{"email":{"type":"string","format":"email"}}}',
    "function transform(event) { return event }",
    "transform",
  )
}
