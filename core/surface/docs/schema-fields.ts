// Renders a JSON Schema as a readable list of fields.
import { Html, html } from "../../kernel/html.ts"
import type { JsonObject } from "../wire-schema.ts"

export type Resolve = (reference: string) => JsonObject | undefined

const maxDepth = 4

/** Renders the fields of an object or of the objects in a list. Other schemas render as empty. */
export function fieldList(schema: JsonObject | undefined, resolve: Resolve, depth = 0): Html {
  const object = objectIn(schema, resolve)
  const fields = Object.entries((object?.["properties"] ?? {}) as Record<string, JsonObject>)
  if (fields.length === 0 || depth > maxDepth) return html``
  const required = (object?.["required"] ?? []) as string[]
  return html`<dl>${fields.map(([name, field]) => fieldItem(name, field, required.includes(name), resolve, depth))}</dl>`
}

function fieldItem(name: string, field: JsonObject, required: boolean, resolve: Resolve, depth: number): Html {
  const inner = fieldList(field, resolve, depth + 1)
  const about = typeof field["description"] === "string" ? prose(field["description"]) : html``
  const nested = inner.text === "" ? inner : html`<details><summary>Fields</summary>${inner}</details>`
  return html`<dt><code>${name}</code> <span class="type">${typeOf(field, resolve)}</span>${required ? html` <span class="place">required</span>` : html``}</dt><dd>${about}${nested}</dd>`
}

/** `string (uuid)`, `integer, 1 to 200`, `active | disabled`, `list of object`, `string or null`. */
export function typeOf(schema: JsonObject | undefined, resolve: Resolve, depth = 0): string {
  if (!schema || depth > maxDepth) return "any"
  if (typeof schema["$ref"] === "string") return schema["$ref"].split("/").at(-1) ?? "object"
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"])
  if (Array.isArray(schema["enum"])) return schema["enum"].map(String).join(" | ")
  const choice = (schema["anyOf"] ?? schema["oneOf"]) as JsonObject[] | undefined
  if (choice) return [...new Set(choice.map((one) => typeOf(one, resolve, depth + 1)))].join(" or ")
  const type = schema["type"]
  if (type === "array") return `list of ${typeOf(schema["items"] as JsonObject | undefined, resolve, depth + 1)}`
  if (typeof type !== "string") return Array.isArray(type) ? type.join(" or ") : "any"
  return type + boundsOf(schema)
}

function boundsOf(schema: JsonObject): string {
  if (typeof schema["format"] === "string") return ` (${schema["format"]})`
  const [least, most] = [schema["minimum"] ?? schema["minLength"], schema["maximum"] ?? schema["maxLength"]]
  const huge = (bound: unknown) => bound === undefined || Math.abs(Number(bound)) >= Number.MAX_SAFE_INTEGER
  if (huge(least) && huge(most)) return ""
  if (huge(most)) return `, at least ${String(least)}`
  return huge(least) ? `, at most ${String(most)}` : `, ${String(least)} to ${String(most)}`
}

function objectIn(schema: JsonObject | undefined, resolve: Resolve, depth = 0): JsonObject | undefined {
  if (!schema || depth > maxDepth) return undefined
  if (typeof schema["$ref"] === "string") return objectIn(resolve(schema["$ref"]), resolve, depth + 1)
  if (schema["properties"]) return schema
  if (schema["type"] === "array") return objectIn(schema["items"] as JsonObject | undefined, resolve, depth + 1)
  const choice = (schema["anyOf"] ?? schema["oneOf"]) as JsonObject[] | undefined
  return choice?.map((one) => objectIn(one, resolve, depth + 1)).find((one) => one !== undefined)
}

/** Renders paragraphs of text with `code` in backticks. */
export function prose(text: string): Html {
  const paragraphs = text.split(/\n{2,}/).map((paragraph) => {
    const pieces = paragraph.split(/`([^`]+)`/).map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`))
    return html`<p>${new Html(pieces.map((piece) => piece.text).join(""))}</p>`
  })
  return html`${paragraphs}`
}
