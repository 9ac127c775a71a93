// Converts a schema of plain keywords into a check without an isolate. Returns null for any other schema.
import { type Check, type JsonType, jsonTypes, maxListed } from "../../mapping/check.ts"

type Fields = Record<string, unknown>

/** Keywords without an effect on validation. */
const annotations = new Set(["$comment", "$schema", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"])

type Read = (value: unknown) => Partial<Check> | null

const readers: Record<string, Read> = {
  type: (value) => {
    const types = (Array.isArray(value) ? value : [value]).filter((one): one is JsonType => jsonTypes.includes(one as JsonType))
    return types.length > 0 && types.length === (Array.isArray(value) ? value.length : 1) ? { types } : null
  },
  enum: (value) => listed(value),
  const: (value) => listed([value]),
  format: (value) => (value === "email" ? { email: true } : null),
  minLength: (value) => bound(value, "minLength"),
  maxLength: (value) => bound(value, "maxLength"),
  minimum: (value) => bound(value, "minimum"),
  maximum: (value) => bound(value, "maximum"),
  minItems: (value) => bound(value, "minItems"),
  maxItems: (value) => bound(value, "maxItems"),
  items: (value) => {
    const items = mappedSchema(value)
    return items && { items }
  },
  required: (value) => (Array.isArray(value) && value.every((one) => typeof one === "string") ? { required: value } : null),
  properties: (value) => {
    if (!isFields(value) || Object.hasOwn(value, "__proto__")) return null
    const properties: [string, Check][] = []
    for (const [name, schema] of Object.entries(value)) {
      const check = mappedSchema(schema)
      if (!check) return null
      properties.push([name, check])
    }
    return { properties }
  },
  additionalProperties: (value) => (typeof value === "boolean" ? { closed: !value } : null),
}

export function mappedSchema(schema: unknown): Check | null {
  if (schema === true) return {}
  if (!isFields(schema)) return null
  let check: Check = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (annotations.has(keyword)) continue
    const read = Object.hasOwn(readers, keyword) ? readers[keyword]?.(value) : null
    if (!read) return null
    // `enum` and `const` both become lists of values. A schema with both needs an isolate.
    if (read.oneOf && check.oneOf) return null
    check = { ...check, ...read }
  }
  return check
}

function listed(values: unknown): Partial<Check> | null {
  const isPlain = (one: unknown) => one === null || ["string", "number", "boolean"].includes(typeof one)
  return Array.isArray(values) && values.length <= maxListed && values.every(isPlain) ? { oneOf: values } : null
}

function bound(value: unknown, name: "minLength" | "maxLength" | "minimum" | "maximum" | "minItems" | "maxItems"): Partial<Check> | null {
  return typeof value === "number" ? { [name]: value } : null
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
