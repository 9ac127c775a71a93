// Converts an input to a form that every surface can express. Paths and queries contain only text, so for example a number
// becomes the same as its text. Such inputs are converted as the service would read them.
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { pathParameters } from "../../../core/surface/call/audit.ts"
import { queryValues } from "../../../core/surface/http/query-values.ts"
import { endless, fromQuery, type Input, textOf } from "./surfaces.ts"

export function sayable(operation: AnyOperation, input: Input): Input {
  const inPath = new Set(pathParameters(operation.http.path))
  // The SDK drops this name from a tool's arguments.
  const fields = Object.entries(input).filter(([name, value]) => value !== undefined && name !== "__proto__")
  const path = [...inPath].map((name): [string, string] => [name, pathText(input[name])])
  const others = fields.filter(([name]) => !inPath.has(name))
  const otherFields = fromQuery(operation) ? queryValues(operation, queryOf(others)) : read(Object.fromEntries(others))
  const request: Input = Object.fromEntries(path)
  for (const [name, value] of Object.entries(otherFields)) Object.defineProperty(request, name, { value, enumerable: true })
  return request
}

/** Empty and climbing segments lead to another path. */
function pathText(value: unknown): string {
  const text = textOf(value ?? "nothing").toWellFormed()
  return /^\.{0,2}$/.test(text) ? "nothing" : text
}

function queryOf(entries: readonly [string, unknown][]): Map<string, string[]> {
  const query = new Map<string, string[]>()
  // A query cannot express an empty list.
  for (const [name, value] of entries) {
    const texts = [value].flat().map((item) => textOf(item).toWellFormed())
    if (texts.length > 0) query.set(name.toWellFormed(), texts)
  }
  return query
}

function read(input: Input): Input {
  return JSON.parse(JSON.stringify(input, (_name, value: unknown) => (value === endless ? "endless" : value))) as Input
}
