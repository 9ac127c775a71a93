// Builds an example value for a schema: defaults and first choices if present, otherwise a plausible value by format, pattern and
// field name. An example is shown only if its schema accepts it.
import { type AnyOperation, fulfilled, type OperationExample } from "../../contract/operation.ts"
import type { JsonObject } from "../wire-schema.ts"

const byFormat: Record<string, string> = {
  uuid: "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04",
  guid: "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04",
  "date-time": "2026-09-29T08:30:00.000Z",
  date: "2026-09-29",
  email: "ada@example.com",
  uri: "https://example.com/",
  url: "https://example.com/",
}

const byName: Record<string, string> = {
  slug: "website-leads",
  name: "Website leads",
  domain: "example.com",
  from_name: "Acme Sales",
  email: "ada@example.com",
  number: "+493012345678",
  next_cursor: "",
  cursor: "",
}

const maxDepth = 6

/** Returns undefined if no value fits. Input examples have the required fields only, output examples all fields. */
export function exampleOf(
  schema: JsonObject,
  io: "input" | "output",
  resolve: (reference: string) => JsonObject | undefined,
  name = "",
): unknown {
  return sample(schema, { io, resolve, name, depth: 0 })
}

interface SampleContext {
  readonly io: "input" | "output"
  readonly resolve: (reference: string) => JsonObject | undefined
  readonly name: string
  readonly depth: number
}

function sample(schema: JsonObject, place: SampleContext): unknown {
  if (schema["const"] !== undefined) return schema["const"]
  if (Array.isArray(schema["examples"])) return schema["examples"][0]
  if (schema["default"] !== undefined) return schema["default"]
  if (Array.isArray(schema["enum"])) return schema["enum"][0]
  if (place.depth > maxDepth) return undefined
  const deeper = { ...place, depth: place.depth + 1 }
  if (typeof schema["$ref"] === "string") return sample(place.resolve(schema["$ref"]) ?? {}, deeper)
  const choice = (schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"]) as JsonObject[] | undefined
  if (choice) return sample(choice[0] ?? {}, deeper)
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"]
  if (type === "object") return sampleObject(schema, deeper)
  if (type === "array") return sampleList(schema, deeper)
  if (type === "string") return sampleText(schema, place.name)
  if (type === "integer" || type === "number") return Math.max(1, Number(schema["minimum"] ?? 1))
  if (type === "boolean") return false
  return type === "null" ? null : {}
}

function sampleObject(schema: JsonObject, place: SampleContext): JsonObject {
  const required = (schema["required"] ?? []) as string[]
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, JsonObject>)
  const shown = place.io === "input" ? properties.filter(([name]) => required.includes(name)) : properties
  const fields = shown.map(([name, inner]) => [name, sample(inner, { ...place, name })] as const)
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function sampleList(schema: JsonObject, place: SampleContext): unknown[] {
  if (place.io === "input" && Number(schema["minItems"] ?? 0) === 0) return []
  const item = sample((schema["items"] ?? {}) as JsonObject, place)
  return item === undefined ? [] : [item]
}

function sampleText(schema: JsonObject, name: string): string {
  const { format, pattern, minLength } = schema
  const known = typeof format === "string" ? byFormat[format] : undefined
  if (known !== undefined) return known
  const text = byName[name] ?? byName[name.replace(/^.*_/, "")] ?? (Number(minLength ?? 0) > 0 ? "example" : "")
  if (typeof pattern !== "string") return text.padEnd(Number(minLength ?? 0), "-")
  return [text, "website-leads", "datasets:read", "example", "+493012345678"].find((one) => new RegExp(pattern).test(one)) ?? text
}

// Documented input examples of an operation. Declared examples have plausible values in place of earlier responses. Without
// declared examples, one is built from the schema.

export interface ShownExample {
  readonly title: string
  readonly input: JsonObject
}

/** Returns only examples accepted by the operation's schema. `schema` is the schema of its input. */
export function examplesFor(
  operation: AnyOperation,
  schema: JsonObject,
  resolve: (reference: string) => JsonObject | undefined,
): ShownExample[] {
  const properties = (schema["properties"] ?? {}) as Record<string, JsonObject>
  const declared: readonly OperationExample[] = operation.examples ?? [{ input: exampleOf(schema, "input", resolve) }]
  return declared
    .map(({ title, input }, index) => ({
      title: title ?? (index === 0 ? operation.summary.replace(/\.$/, "") : `Another ${index}`),
      input: fulfilled(input, (path, field) =>
        exampleOf(properties[field] ?? { type: "string", format: "uuid" }, "input", resolve, path.split(".").at(-1) ?? field),
      ) as JsonObject,
    }))
    .filter(({ input }) => operation.input.safeParse(input).success)
}
