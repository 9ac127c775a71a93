// Translates filters, sorts and keyset paging to MongoDB. `id` becomes `_id` within its organization, times become dates, and the
// organization's condition is added. Only documented operators pass, regardless of the layers above.
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Filter, Scalar } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import { type Bson, comparedTime, Encoder, keyOf, rangeOf, type TimeTree, timesAt, timesOf } from "./values.ts"

export interface QueryScope {
  readonly collection: CollectionSpec
  readonly organization: string | undefined
}

/** Returns the filter with the organization's condition. */
export function toFilter(place: QueryScope, filter: Filter): Bson {
  const given = translate(place, filter)
  const wall = wallOf(place, Object.hasOwn(filter, "id"))
  const parts = [wall, given].filter((part) => Object.keys(part).length > 0)
  return parts.length === 1 ? (parts[0] as Bson) : parts.length === 0 ? {} : { $and: parts }
}

function wallOf({ organization }: QueryScope, namesId: boolean): Bson {
  if (organization === undefined) return {}
  // The range keeps a read without an index within the organization's own documents.
  return namesId ? { organization_id: organization } : { organization_id: organization, _id: rangeOf(organization) }
}

export function pathOf(path: string): string {
  return path === "id" ? "_id" : path
}

/** Returns a condition on the document alone, without the organization's condition. */
export function translate(place: QueryScope, filter: Filter): Bson {
  const out: Bson = {}
  for (const [path, condition] of Object.entries(filter)) {
    if (condition === undefined) throw refuse(path, "has no value; leave the path out, or compare it with null")
    if (path === "$and" || path === "$or") out[path] = (condition as readonly Filter[]).map((part) => translate(place, part))
    else if (path.startsWith("$")) throw refuse(path, "is not an operator of a filter; $and and $or are")
    else out[pathOf(path)] = conditionsOf(place, path, condition)
  }
  return out
}

const comparisons = new Set(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])

function conditionsOf(place: QueryScope, path: string, condition: unknown): Bson {
  if (!isConditions(condition)) return { $eq: operand(place, path, condition) }
  const out: Bson = {}
  for (const [operator, value] of Object.entries(condition)) {
    if (value === undefined) throw refuse(path, `compares with nothing: ${operator} has no value`)
    if (comparisons.has(operator)) out[operator] = operand(place, path, value)
    else if (operator === "$in" || operator === "$nin") out[operator] = (value as unknown[]).map((item) => operand(place, path, item))
    else if (operator === "$exists") out[operator] = value === true
    else if (operator === "$not") out[operator] = conditionsOf(place, path, value)
    else throw refuse(path, `is compared by ${operator}, which is not an operator of a filter`)
  }
  return out
}

function isConditions(value: unknown): value is Bson {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => key.startsWith("$"))
}

function operand(place: QueryScope, path: string, value: unknown): unknown {
  if (path === "id") return typeof value === "string" ? keyOf(place.organization, value) : value
  const times: TimeTree | undefined = timesAt(timesOf(place.collection), path)
  if (times?.isTime && typeof value === "string") return comparedTime(value, path)
  const encoder = new Encoder(place.collection.name)
  return encoder.ready(encoder.value(value, times, path))
}

/** Types in MongoDB's order. null and absent come first. */
const order = ["number", "string", "object", "array", "bool", "date"]

function kindOf(value: unknown): number {
  return order.indexOf(value instanceof Date ? "date" : typeof value === "boolean" ? "bool" : typeof value)
}

/** Selects documents after the sort values `after`, for fields of any type. */
export function toAfter(place: QueryScope, sort: readonly (readonly [string, 1 | -1])[], after: readonly Scalar[]): Bson {
  if (after.length !== sort.length) {
    const message = `after has ${after.length} values where the sort has ${sort.length} fields; give one for each.`
    throw new AppError("invalid_argument", message, { reason: "invalid_cursor", fields: [{ path: "after", message }] })
  }
  const equal: Bson[] = []
  const branches: Bson[] = []
  let bound: Bson | undefined
  for (const [index, [path, direction]] of sort.entries()) {
    const value = operand(place, path, after[index])
    const field = pathOf(path)
    const beyond = value === null ? beyondNull(field, direction) : beyondValue(field, direction, value)
    if (beyond) branches.push({ $and: [...equal, beyond] })
    // Repeats the bound outside the alternatives, so an index can start at it.
    if (index === 0 && value !== null) bound = { [field]: { $not: direction === 1 ? { $lt: value } : { $gt: value } } }
    equal.push({ [field]: { $eq: value } })
  }
  const follows = { $or: branches }
  return bound ? { $and: [bound, follows] } : follows
}

function beyondNull(field: string, direction: 1 | -1): Bson | undefined {
  return direction === 1 ? { [field]: { $ne: null } } : undefined
}

function beyondValue(field: string, direction: 1 | -1, value: unknown): Bson {
  if (field === "_id") return { _id: direction === 1 ? { $gt: value } : { $lt: value } }
  const kind = kindOf(value)
  const kinds = direction === 1 ? order.slice(kind + 1) : order.slice(0, kind)
  const parts: Bson[] = [{ [field]: direction === 1 ? { $gt: value } : { $lt: value } }]
  if (kinds.length > 0) parts.push({ [field]: { $type: kinds } })
  if (direction === -1) parts.push({ [field]: null })
  return { $or: parts }
}

function refuse(path: string, what: string): AppError {
  return new AppError("invalid_argument", `Filter: ${JSON.stringify(path)} ${what}.`, {
    reason: "invalid_fields",
    fields: [{ path, message: what }],
  })
}
