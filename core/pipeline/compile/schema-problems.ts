// What zod says of a value in a document, as findings with pointers.
import { type RefusedValue, zodProblems } from "../../kernel/zod-problems.ts"
import { pointerTo } from "../pointer.ts"

export interface SchemaProblem {
  readonly rule: "unknown-field" | "invalid-field"
  readonly pointer: string
  readonly message: string
}

/** `pointer` is where the checked value stands. */
export function schemaProblems(refused: RefusedValue, pointer: string): SchemaProblem[] {
  const { problems, count } = zodProblems(refused)
  const found = problems.map(({ kind, path, message }): SchemaProblem => {
    const named = kind === "missing" && path.length > 0 ? `"${String(path.at(-1))}" is missing. ${message}` : message
    return { rule: kind === "unknown" ? "unknown-field" : "invalid-field", pointer: pointerTo(path, pointer), message: named }
  })
  const more = count - found.length
  return more > 0 ? [...found, { rule: "invalid-field", pointer, message: `${more} more problems here.` }] : found
}
