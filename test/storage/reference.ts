// A minimal reference implementation of the storage port's query rules: matching documents and their order. Written from
// MongoDB's manual, independent of the code under test.
import type { Json } from "../../core/contract/collection.ts"
import type { Filter } from "../../core/contract/store.ts"

type Doc = Record<string, Json | undefined>
type Value = Json | undefined

/** Returns every value at a path. Enters lists on the way; a final list counts as itself and as its elements. */
function reach(value: Value, segments: readonly string[]): Value[] {
  const [head, ...rest] = segments
  if (head === undefined) return Array.isArray(value) ? [...value, value] : [value]
  if (Array.isArray(value)) return value.filter(isObject).flatMap((element) => reach(element, segments))
  return isObject(value) && Object.hasOwn(value, head) ? reach(value[head], rest) : [undefined]
}

const isObject = (value: Value): value is { [key: string]: Json } => typeof value === "object" && value !== null && !Array.isArray(value)

const same = (a: Value, b: Value): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

const kinds = ["null", "number", "string", "object", "array", "boolean"]
const kindOf = (value: Value): number =>
  kinds.indexOf(value === null || value === undefined ? "null" : Array.isArray(value) ? "array" : typeof value)

/** Order of two values; text by UTF-8 bytes. */
function order(a: Value, b: Value): number {
  if (kindOf(a) !== kindOf(b)) return kindOf(a) - kindOf(b)
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return typeof a === "number" || typeof a === "boolean" ? Number(a) - Number(b) : 0
}

const compares: Record<string, (difference: number) => boolean> = {
  $gt: (difference) => difference > 0,
  $gte: (difference) => difference >= 0,
  $lt: (difference) => difference < 0,
  $lte: (difference) => difference <= 0,
}

function holds(values: Value[], operator: string, operand: Value): boolean {
  const compare = compares[operator]
  if (compare) return values.some((value) => kindOf(value) === kindOf(operand) && compare(order(value, operand)))
  if (operator === "$eq") return values.some((value) => same(value, operand))
  if (operator === "$in") return (operand as Json[]).some((entry) => values.some((value) => same(value, entry)))
  if (operator === "$exists") return values.some((value) => value !== undefined) === operand
  if (operator === "$ne") return !holds(values, "$eq", operand)
  if (operator === "$nin") return !holds(values, "$in", operand)
  if (operator === "$not") return !all(values, operand as Doc)
  throw new Error(`The reference does not know ${operator}.`)
}

const all = (values: Value[], conditions: Doc): boolean =>
  Object.entries(conditions).every(([operator, operand]) => holds(values, operator, operand))

export function matchesReference(doc: Doc, filter: Filter): boolean {
  return Object.entries(filter).every(([path, condition]) => {
    if (path === "$and") return (condition as Filter[]).every((item) => matchesReference(doc, item))
    if (path === "$or") return (condition as Filter[]).some((item) => matchesReference(doc, item))
    const values = reach(doc as Json, path.split("."))
    const operators = isObject(condition as Json) && Object.keys(condition as object).some((key) => key.startsWith("$"))
    return operators ? all(values, condition as Doc) : holds(values, "$eq", condition as Json)
  })
}

export function sortReference<D extends Doc>(docs: readonly D[], sort: readonly (readonly [string, number])[]): D[] {
  const at = (doc: D, path: string) =>
    path.split(".").reduce<Value>((value, key) => (isObject(value) ? value[key] : undefined), doc as Json)
  return [...docs].sort((a, b) => {
    for (const [path, direction] of sort) {
      const difference = order(at(a, path), at(b, path)) * direction
      if (difference !== 0) return difference
    }
    return 0
  })
}
