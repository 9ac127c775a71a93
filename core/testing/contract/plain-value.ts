// Something plain that a schema takes, to stand beside what is tried. Where a rule makes it wrong, an example must show
// how it is done.
import type { Json } from "../../contract/collection.ts"
import { alternativesOf, definitionOf, isSchema, type Schema } from "./config-schema.ts"

const deepest = 8

const byFormat: Readonly<Record<string, string>> = {
  email: "ada@example.com",
  uri: "https://example.com/",
  uuid: "0190a000-0000-7000-8000-000000000001",
  date: "2026-01-02",
  "date-time": "2026-01-02T03:04:05Z",
}

export function plainValue(schema: unknown, root: Schema, depth = 0): Json {
  if (!isSchema(schema) || depth > deepest) return null
  const inner = (one: unknown) => plainValue(one, root, depth + 1)
  const { $ref, type } = schema
  if (typeof $ref === "string") return inner(definitionOf(root, $ref))
  const said = [schema["default"], schema["const"], ...listOf(schema["enum"]), ...listOf(schema["examples"])]
  const known = said.find((one) => one !== undefined)
  if (known !== undefined) return known as Json
  const [first] = alternativesOf(schema)
  if (first !== undefined) return inner(first)
  if (type === "object") {
    const properties = (schema["properties"] ?? {}) as Schema
    return Object.fromEntries(listOf(schema["required"]).map((name) => [String(name), inner(properties[String(name)])]))
  }
  if (type === "array") return Array.from({ length: numberOf(schema["minItems"]) ?? 0 }, () => inner(schema["items"]))
  if (type === "string") return byFormat[String(schema["format"])] ?? "text".padEnd(numberOf(schema["minLength"]) ?? 0, "-")
  if (type === "number" || type === "integer") return numberOf(schema["minimum"]) ?? 1
  if (type === "boolean") return true
  return null
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined
}
