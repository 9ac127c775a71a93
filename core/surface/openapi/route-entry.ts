// One public route in the OpenAPI document. It needs no key, and its responses are for people and browsers.
import type { AnyRoute, RouteDocument } from "../../contract/route.ts"
import { pathParameters } from "../call/audit.ts"
import type { JsonObject } from "../wire-schema.ts"
import { ref } from "./components.ts"
import { areaOf } from "./operation-entry.ts"

export function routeEntry(route: AnyRoute, document: RouteDocument): JsonObject {
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
    responses: Object.fromEntries(answers),
  }
}
