// The OpenAPI 3.1 document, read from the registered operations: nothing in it is written twice. Inputs and outputs are
// zod's own JSON Schemas, named after their operation.
import { z } from "zod"
import type { AnyOperation } from "../contract/operation.ts"
import { type ErrorCode, httpStatusOf } from "../kernel/errors.ts"
import { pathParameters } from "./call/audit.ts"
import { SchemaShelf } from "./openapi/schema-shelf.ts"

/** The version of the interface (specification, part 9). */
export const interfaceVersion = "2026-09-29"

type JsonObject = { [key: string]: unknown }

const ErrorSchema = z.object({
  code: z.enum(Object.keys(httpStatusOf) as ErrorCode[]),
  message: z.string(),
  details: z.looseObject({
    reason: z.string().optional(),
    fields: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  }),
})

/** Codes that any operation may answer, beside its own. */
const always: readonly ErrorCode[] = [
  "unauthenticated",
  "permission_denied",
  "invalid_argument",
  "resource_exhausted",
  "internal",
  "unavailable",
]

export function openApi(operations: readonly AnyOperation[], args: { serverUrl: string }): JsonObject {
  const shelf = new SchemaShelf()
  shelf.add("Error", ErrorSchema, "output")
  const paths: Record<string, JsonObject> = {}
  for (const operation of [...operations].sort((left, right) => (left.http.path < right.http.path ? -1 : 1))) {
    paths[operation.http.path] = { ...paths[operation.http.path], [operation.http.method.toLowerCase()]: describe(operation, shelf) }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace",
      version: interfaceVersion,
      description: "Lead capture, experiments and outreach: an organization-scoped API.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: args.serverUrl }],
    security: [{ bearer: [] }],
    tags: [...new Set(operations.map(areaOf))].sort().map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key (`mr_api_…`) or a scoped token (`mr_token_…`)." },
      },
      parameters: parameters(),
      headers: headers(),
      schemas: shelf.schemas,
    },
  }
}

function describe(operation: AnyOperation, shelf: SchemaShelf): JsonObject {
  const { http, access } = operation
  const name = pascal(operation.name)
  const input = shelf.make(`${name}Input`, operation.input, "input")
  const inPath = pathParameters(http.path)
  const fromQuery = http.method === "GET" || http.method === "DELETE"
  const keyed = http.method === "POST" && !operation.hints.readOnly
  const status = String(http.status ?? 200)
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: [
      operation.description,
      `Needs the scope \`${access.scope}\` (of a scoped token) and the role \`${access.role}\`${access.staff ? ", and is for staff" : ""}.`,
    ]
      .filter(Boolean)
      .join("\n\n"),
    tags: [areaOf(operation)],
    parameters: [
      ...inPath.map((parameter) => parameterOf(parameter, "path", input)),
      ...(fromQuery ? fieldsOf(input).filter((field) => !inPath.includes(field)) : []).map((field) => parameterOf(field, "query", input)),
      ref("parameters", "OrganizationId"),
      ref("parameters", "RequestId"),
      ...(keyed ? [ref("parameters", "IdempotencyKey")] : []),
    ],
    ...(fromQuery ? {} : bodyOf(`${name}Body`, input, inPath, shelf)),
    responses: { [status]: success(operation, name, shelf), ...failures(operation) },
  }
}

function bodyOf(name: string, input: JsonObject, inPath: readonly string[], shelf: SchemaShelf): JsonObject {
  const fields = fieldsOf(input).filter((field) => !inPath.includes(field))
  const isObject = input["properties"] !== undefined
  if (isObject && fields.length === 0) return {}
  const required = ((input["required"] as string[] | undefined) ?? []).filter((field) => !inPath.includes(field))
  const properties = (input["properties"] ?? {}) as JsonObject
  const schema = isObject
    ? { ...input, properties: Object.fromEntries(fields.map((field) => [field, properties[field]])), required }
    : input
  shelf.put(name, schema)
  return { requestBody: { required: required.length > 0, content: { "application/json": { schema: ref("schemas", name) } } } }
}

function success(operation: AnyOperation, name: string, shelf: SchemaShelf): JsonObject {
  const common = {
    "X-Request-Id": ref("headers", "RequestId"),
    "RateLimit-Policy": ref("headers", "RateLimitPolicy"),
    RateLimit: ref("headers", "RateLimit"),
  }
  if (operation.streams) {
    const text = { schema: { type: "string" } }
    return { description: "The stream.", headers: common, content: { "text/csv": text, "application/x-ndjson": text } }
  }
  shelf.add(`${name}Output`, operation.output, "output")
  return { description: "Success.", headers: common, content: { "application/json": { schema: ref("schemas", `${name}Output`) } } }
}

/** One answer a status; codes that share one are named together. */
function failures(operation: AnyOperation): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of new Set([...always, ...operation.errors])) {
    byStatus.set(httpStatusOf[code], [...(byStatus.get(httpStatusOf[code]) ?? []), code])
  }
  const bodies: [number, string[]][] =
    operation.http.method === "GET" || operation.http.method === "DELETE"
      ? []
      : [
          [413, ["resource_exhausted"]],
          [415, ["invalid_argument"]],
        ]
  return Object.fromEntries(
    [...byStatus, ...bodies].map(([status, codes]) => [
      String(status),
      {
        description: codes.map((code) => `\`${code}\``).join(", "),
        ...(status === 429 ? { headers: { "Retry-After": ref("headers", "RetryAfter") } } : {}),
        content: { "application/json": { schema: ref("schemas", "Error") } },
      },
    ]),
  )
}

function parameterOf(name: string, place: "path" | "query", input: JsonObject): JsonObject {
  const schema = ((input["properties"] as JsonObject | undefined)?.[name] ?? { type: "string" }) as JsonObject
  const required = place === "path" || ((input["required"] as string[] | undefined) ?? []).includes(name)
  const description = schema["description"]
  return { name, in: place, required, schema, ...(typeof description === "string" ? { description } : {}) }
}

function parameters(): JsonObject {
  return {
    OrganizationId: {
      name: "X-Organization-ID",
      in: "header",
      description: "UUID or slug of the organization to act in; the credential's own when absent.",
      schema: { type: "string" },
    },
    RequestId: {
      name: "X-Request-Id",
      in: "header",
      description: "Echoed, and found again in logs and audit; minted when absent.",
      schema: { type: "string", pattern: "^[\\w\\-=.]{1,255}$" },
    },
    IdempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      description: "The same key and body gets the first answer again for 24 hours.",
      schema: { type: "string", minLength: 1, maxLength: 255 },
    },
  }
}

function headers(): JsonObject {
  const text = { type: "string" }
  return {
    RequestId: { description: "The request's id.", schema: text },
    RateLimitPolicy: { description: 'The quotas, such as `"key";q=6000;w=60`.', schema: text },
    RateLimit: { description: 'What is left of them, such as `"key";r=5999;t=1`.', schema: text },
    RetryAfter: { description: "Seconds after which to try again.", schema: { type: "integer" } },
  }
}

function fieldsOf(schema: JsonObject): string[] {
  return Object.keys((schema["properties"] as JsonObject | undefined) ?? {})
}

function ref(kind: "schemas" | "parameters" | "headers", name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` }
}

function areaOf({ name }: AnyOperation): string {
  return name.split(".")[0] ?? name
}

function pascal(name: string): string {
  return name.replace(/(?:^|[._])(\w)/g, (_all, letter: string) => letter.toUpperCase())
}
