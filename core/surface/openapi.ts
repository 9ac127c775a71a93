// The OpenAPI 3.1 document, built from the registered operations. Inputs and outputs use the operations' own schemas, named after
// the operations.
import type { AnyOperation } from "../contract/operation.ts"
import type { AnyRoute, RouteDocument } from "../contract/route.ts"
import { pathParameters } from "./call/audit.ts"
import { readsBeside } from "./http/if-match.ts"
import { answerComponents, ErrorSchema, headerComponents, parameterComponents, ref } from "./openapi/components.ts"
import { inboundPath, inboundTag } from "./openapi/inbound.ts"
import { areaOf, operationEntry } from "./openapi/operation-entry.ts"
import { SchemaShelf } from "./openapi/schema-shelf.ts"
import type { JsonObject } from "./wire-schema.ts"

const description = `Lead capture, experiments and outreach: an organization-scoped API. Events come in at the inbound
endpoint of a pipeline, are verified, validated, normalized and run through an ordered list of actions.

Every operation needs \`Authorization: Bearer <key>\` and acts in the key's own organization, or in the one that
\`X-Organization-ID\` selects. Lists take \`limit\` and \`cursor\` and answer \`next_cursor\`, empty at the end. Errors are
\`{ code, message, details }\` everywhere. The same operations are tools at \`POST /mcp\`, commands of \`millrace\`, and
live updates come over socket.io at \`/live\`.`

export function openApi(operations: readonly AnyOperation[], args: { serverUrl: string; routes?: readonly AnyRoute[] }): JsonObject {
  const shelf = new SchemaShelf()
  shelf.add("Error", ErrorSchema, "output")
  const tagged = new Set(readsBeside(operations).keys())
  const paths: Record<string, JsonObject> = {}
  for (const operation of [...operations].sort((left, right) => (left.http.path < right.http.path ? -1 : 1))) {
    const { method, path } = operation.http
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationEntry(operation, { shelf, tagged }) }
  }
  const routes = (args.routes ?? []).filter(({ document }) => document)
  for (const route of routes) {
    if (!route.document) continue
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: routeEntry(route, route.document) }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace",
      version: interfaceVersion,
      summary: "Durable event pipelines for lead capture, experiments and outreach.",
      description,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      contact: { name: "Millrace", url: `${args.serverUrl}/docs` },
    },
    servers: [{ url: args.serverUrl, description: "This service." }],
    security: [{ bearer: [] }],
    tags: [...tagsOf([...operations, ...routes]), inboundTag].sort((left, right) => (left.name < right.name ? -1 : 1)),
    paths: { ...paths, ...inboundPath() },
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key (`mr_api_…`) or a scoped token (`mr_token_…`)." },
      },
      parameters: parameterComponents,
      headers: headerComponents,
      responses: answerComponents(),
      schemas: shelf.schemas,
    },
  }
}

/** One tag for each area: its name and its verbs. */
function tagsOf(named: readonly { readonly name: string }[]): { name: string; description: string }[] {
  const areas = Map.groupBy(named, areaOf)
  return [...areas].map(([name, inArea]) => {
    const title = name.replaceAll("_", " ")
    const verbs = inArea.map((one) => one.name.slice(name.length + 1).replaceAll("_", " "))
    return { name, description: `${title.charAt(0).toUpperCase()}${title.slice(1)}: ${verbs.join(", ")}.` }
  })
}

// Renders a public route. It needs no key, and its responses are for people and browsers.

function routeEntry(route: AnyRoute, document: RouteDocument): JsonObject {
  const text = { type: "string" }
  const inPath = pathParameters(route.path).map((name) => {
    return { name, in: "path", required: true, description: document.path?.[name] ?? "", schema: text }
  })
  const inQuery = Object.entries(document.query ?? {}).map(([name, description]) => ({ name, in: "query", description, schema: text }))
  const answers = Object.entries(document.answers).map(([status, { description, type }]) => {
    return [status, { description, ...(type ? { content: { [type]: { schema: text } } } : {}) }]
  })
  return {
    operationId: route.name,
    summary: route.summary,
    description: document.description,
    tags: [areaOf(route)],
    security: [{}],
    parameters: [...inPath, ...inQuery, ref("parameters", "RequestId")],
    ...(document.body ? { requestBody: { required: true, ...document.body } } : {}),
    responses: { "408": ref("responses", "RequestTimeout"), "431": ref("responses", "HeadTooLarge"), ...Object.fromEntries(answers) },
  }
}

/** Specification, part 9. */
export const interfaceVersion = "2026-09-29"
