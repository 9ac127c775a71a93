// One operation in the OpenAPI document: parameters, body, responses and errors, with examples accepted by its schemas.
import type { AnyOperation } from "../../contract/operation.ts"
import { type ErrorCode, httpStatusOf } from "../../kernel/errors.ts"
import { pathParameters } from "../call/audit.ts"
import type { JsonObject } from "../wire-schema.ts"
import { errorOf, ref, sharedAnswers } from "./components.ts"
import { exampleOf, examplesFor, type ShownExample } from "./example.ts"
import type { SchemaShelf } from "./schema-shelf.ts"

/** Shared error codes also explained by each operation. For example, `not_found` also means an organization out of reach. */
const always: readonly ErrorCode[] = ["invalid_argument", "not_found"]
const shared = new Set(Object.values(sharedAnswers).map(({ status }) => status))

/** The schemas of a document, and its operations with If-Match. */
export interface EntryContext {
  readonly shelf: SchemaShelf
  readonly tagged: ReadonlySet<AnyOperation>
}

export function operationEntry(operation: AnyOperation, { shelf, tagged }: EntryContext): JsonObject {
  const { http, access } = operation
  const name = pascal(operation.name)
  const input = shelf.make(`${name}Input`, operation.input, "input")
  const inPath = pathParameters(http.path)
  const reads = http.method === "GET"
  const fromQuery = reads || http.method === "DELETE"
  const shown = examplesFor(operation, input, resolver(shelf))[0]?.input ?? {}
  const alone = access.withoutOrganization ? " A signed-in person needs no organization." : ""
  const needs = `Needs the scope \`${access.scope}\` (of a scoped token) and the role \`${access.role}\`${access.staff ? ", and is for staff" : ""}.${alone}`
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: [operation.description, needs].filter(Boolean).join("\n\n"),
    tags: [areaOf(operation)],
    parameters: [
      ...inPath.map((parameter) => parameterOf(parameter, "path", input, shown)),
      ...(fromQuery ? fieldsOf(input).filter((field) => !inPath.includes(field)) : []).map((field) =>
        parameterOf(field, "query", input, shown),
      ),
      ref("parameters", "OrganizationId"),
      ref("parameters", "RequestId"),
      ...(isKeyed(operation) ? [ref("parameters", "IdempotencyKey")] : []),
      ...(tagged.has(operation) ? [ref("parameters", "IfMatch")] : []),
      ...(reads && !operation.streams ? [ref("parameters", "IfNoneMatch")] : []),
    ],
    ...(fromQuery ? {} : bodyOf(operation, `${name}Body`, input, inPath, shelf)),
    responses: { ...success(operation, name, shelf), ...failures(operation, tagged) },
  }
}

export function areaOf({ name }: { readonly name: string }): string {
  return name.split(".")[0] ?? name
}

function bodyOf(operation: AnyOperation, name: string, input: JsonObject, inPath: readonly string[], shelf: SchemaShelf): JsonObject {
  const fields = fieldsOf(input).filter((field) => !inPath.includes(field))
  if (fields.length === 0) return {}
  const required = ((input["required"] as string[] | undefined) ?? []).filter((field) => !inPath.includes(field))
  const properties = (input["properties"] ?? {}) as JsonObject
  const schema = { ...input, properties: Object.fromEntries(fields.map((field) => [field, properties[field]])), required }
  shelf.put(name, schema)
  const content = { schema: ref("schemas", name), ...bodyExamples(examplesFor(operation, input, resolver(shelf)), inPath) }
  return { requestBody: { required: required.length > 0, content: { "application/json": content } } }
}

/** A single example stays plain. Several examples each have a title. */
function bodyExamples(shown: readonly ShownExample[], inPath: readonly string[]): JsonObject {
  const bodies = shown.map(({ title, input }) => ({
    summary: title,
    value: Object.fromEntries(Object.entries(input).filter(([field]) => !inPath.includes(field))),
  }))
  const [only] = bodies
  if (bodies.length <= 1) return only ? { example: only.value } : {}
  return { examples: Object.fromEntries(bodies.map((body, index) => [`example_${index + 1}`, body])) }
}

function success(operation: AnyOperation, name: string, shelf: SchemaShelf): JsonObject {
  const status = String(operation.http.status ?? 200)
  const headers = {
    "X-Request-Id": ref("headers", "RequestId"),
    "RateLimit-Policy": ref("headers", "RateLimitPolicy"),
    RateLimit: ref("headers", "RateLimit"),
  }
  if (operation.streams) {
    const text = { schema: { type: "string" } }
    const content = Object.fromEntries(operation.streams.map((type) => [type, text]))
    return {
      [status]: {
        description: "The stream.",
        headers: { ...headers, "Content-Disposition": ref("headers", "ContentDisposition") },
        content,
      },
    }
  }
  shelf.add(`${name}Output`, operation.output, "output")
  const example = exampleOf(shelf.schemas[`${name}Output`] ?? {}, "output", resolver(shelf))
  const schema = answerSchema(operation, name, shelf)
  const content = { schema, ...(operation.output.safeParse(example).success ? { example } : {}) }
  const reads = operation.http.method === "GET"
  const own = {
    ...(reads ? { ETag: ref("headers", "ETag") } : {}),
    ...(isKeyed(operation) ? { "Idempotency-Replayed": ref("headers", "IdempotencyReplayed") } : {}),
  }
  return {
    [status]: { description: "Success.", headers: { ...headers, ...own }, content: { "application/json": content } },
    ...(reads ? { "304": { description: "Not modified: If-None-Match has the current entity tag.", headers: own } } : {}),
  }
}

/** For a secret shown once, a repeat with the same Idempotency-Key receives the response without the secret, and a note. */
function answerSchema(operation: AnyOperation, name: string, shelf: SchemaShelf): JsonObject {
  const first = ref("schemas", `${name}Output`)
  const secrets = isKeyed(operation) ? (operation.secretOutput ?? []) : []
  if (secrets.length === 0) return first
  const { properties = {}, required = [], ...rest } = shelf.schemas[`${name}Output`] as { properties?: JsonObject; required?: string[] }
  const shown = Object.fromEntries(Object.entries(properties).filter(([field]) => !secrets.includes(field)))
  const omitted = { type: "array", items: { type: "string" }, description: "Fields that only the first response had." }
  const details = { type: "object", properties: { reason: { const: "secret_shown_once" }, omitted }, required: ["reason", "omitted"] }
  shelf.put(`${name}Replayed`, {
    ...rest,
    properties: { ...shown, details },
    required: [...required.filter((field) => !secrets.includes(field)), "details"],
  })
  return { anyOf: [first, ref("schemas", `${name}Replayed`)] }
}

/** One response for each status: shared responses by reference, the operation's own with all their codes. */
function failures(operation: AnyOperation, tagged: ReadonlySet<AnyOperation>): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of new Set([...always, ...fromHeaders(operation, tagged), ...operation.errors])) {
    const status = httpStatusOf[code]
    if (shared.has(status) && code === sharedCode(status)) continue
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const withBody = operation.http.method !== "GET" && operation.http.method !== "DELETE"
  const referred = Object.entries(sharedAnswers)
    .filter(([, { status }]) => !byStatus.has(status) && (withBody || (status !== 413 && status !== 415)))
    .map(([name, { status }]) => [String(status), ref("responses", name)] as const)
  const own = [...byStatus].map(([status, codes]) => [String(status), failure(status, codes)] as const)
  return Object.fromEntries([...own, ...referred])
}

/** Error codes of Idempotency-Key, If-Match and If-None-Match. */
function fromHeaders(operation: AnyOperation, tagged: ReadonlySet<AnyOperation>): ErrorCode[] {
  if (operation.hints.readOnly) return []
  return isKeyed(operation) || tagged.has(operation) ? ["aborted", "failed_precondition"] : ["failed_precondition"]
}

function isKeyed({ http, hints }: AnyOperation): boolean {
  return http.method === "POST" && !hints.readOnly
}

function failure(status: number, codes: ErrorCode[]): JsonObject {
  const also = sharedCode(status)
  const all = also && !codes.includes(also) ? [...codes, also] : codes
  return {
    description: all.map((code) => `\`${code}\``).join(", "),
    headers: { "X-Request-Id": ref("headers", "RequestId") },
    content: { "application/json": { schema: errorOf(all) } },
  }
}

function sharedCode(status: number): ErrorCode | undefined {
  return Object.values(sharedAnswers).find((answer) => answer.status === status)?.code
}

function parameterOf(name: string, place: "path" | "query", input: JsonObject, shown: JsonObject): JsonObject {
  const { description, ...schema } = ((input["properties"] as JsonObject | undefined)?.[name] ?? { type: "string" }) as JsonObject
  const required = place === "path" || ((input["required"] as string[] | undefined) ?? []).includes(name)
  const example = shown[name] === undefined ? {} : { example: shown[name] }
  return { name, in: place, required, schema, ...(typeof description === "string" ? { description } : {}), ...example }
}

function fieldsOf(schema: JsonObject): string[] {
  return Object.keys((schema["properties"] as JsonObject | undefined) ?? {})
}

function resolver(shelf: SchemaShelf): (reference: string) => JsonObject | undefined {
  return (reference) => shelf.schemas[reference.slice("#/components/schemas/".length)]
}

function pascal(name: string): string {
  return name.replace(/(?:^|[._])(\w)/g, (_all, letter: string) => letter.toUpperCase())
}
