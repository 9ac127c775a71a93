// Walks the subschemas of a JSON Schema with their places, and skips data and names. The keywords are those of 2020-12 and
// draft-07. The compile child also reads this file, and may read no file above this folder.

export type SchemaFields = Readonly<Record<string, unknown>>

/** Keywords with a schema or a list of schemas. */
const holdsSchema = [
  ...["additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items", "not", "oneOf"],
  ...["prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"],
]

/** Keywords with named schemas. The names are not keywords. */
const holdsNamed = ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]

export const schemaKeywords: readonly string[] = [
  ...holdsSchema,
  ...holdsNamed,
  ...["$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary"],
  ...["const", "contentEncoding", "contentMediaType", "default", "dependentRequired", "deprecated", "description", "enum", "examples"],
  ...["exclusiveMaximum", "exclusiveMinimum", "format", "maxContains", "maximum", "maxItems", "maxLength", "maxProperties"],
  ...["minContains", "minimum", "minItems", "minLength", "minProperties", "multipleOf", "pattern", "readOnly", "required", "title"],
  ...["type", "uniqueItems", "writeOnly"],
]

/** Calls `visit` for the schema and each nested schema. `pointer` is relative to the root. */
export function eachSchema(schema: unknown, visit: (fields: SchemaFields, pointer: string) => void, pointer = ""): void {
  if (!isObject(schema)) return
  visit(schema, pointer)
  for (const [key, value] of Object.entries(schema)) {
    const at = childPointer(pointer, key)
    if (holdsNamed.includes(key) && isObject(value)) eachIn(value, visit, at)
    else if (holdsSchema.includes(key) && Array.isArray(value)) eachIn(value, visit, at)
    else if (holdsSchema.includes(key)) eachSchema(value, visit, at)
  }
}

function eachIn(schemas: object, visit: (fields: SchemaFields, pointer: string) => void, pointer: string): void {
  for (const [key, one] of Object.entries(schemas)) eachSchema(one, visit, childPointer(pointer, key))
}

export function childPointer(parent: string, key: PropertyKey): string {
  const name = String(key)
  return `${parent}/${/[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name}`
}

function isObject(value: unknown): value is SchemaFields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
