// The compiler as it stands in its isolate: takes a schema and a transform as text, answers JSON of the program's two
// sources or of what is wrong with them. ajv makes functions from text here, and nowhere else.
import type { Compiled } from "../../compile-child.ts"
import { mappedSchema } from "./mapped-schema.ts"
import { transformSource } from "./transform-source.ts"
import { validatorSource } from "./validator-source.ts"

/** `schemaText` is "" without a schema; `transform` is null without one, and `entry` its function that is run. Answers JSON of Compiled. */
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

/** Compiles what every first program needs, the schema of schemas above all, before one waits for it. */
export function warm(): void {
  compile(
    '{"type":"object","properties":{"email":{"type":"string","format":"email"}}}',
    "function transform(event) { return event }",
    "transform",
  )
}
