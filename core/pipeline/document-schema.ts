// JSON Schema (2020-12) of a whole pipeline document, for editors. It lists the fields of each action type and the config of each
// auth mode. The compiler checks with the same zod schemas.
import { z } from "zod"
import type { AnyAction } from "../contract/action.ts"
import type { AnyAuthMode } from "../contract/auth-mode.ts"
import { CommonActionFields, PipelineDocument } from "./document.ts"

type JsonSchema = Record<string, unknown>

/** Returns the JSON Schema of pipeline documents for these action types and auth modes. */
export function documentSchema(actions: readonly AnyAction[], authModes: readonly AnyAuthMode[]): JsonSchema {
  const base = schemaOf(PipelineDocument)
  const properties = base["properties"] as Record<string, JsonSchema>
  const $defs: Record<string, JsonSchema> = { ...(base["$defs"] as Record<string, JsonSchema> | undefined) }
  const common = schemaOf(CommonActionFields)["properties"] as Record<string, JsonSchema>
  for (const action of actions) $defs[definitionName("action", action.type)] = actionSchema(action, common)
  for (const mode of authModes) $defs[definitionName("auth", mode.mode)] = authSchema(mode)
  $defs["action"] = {
    type: "object",
    required: ["type"],
    properties: { type: { type: "string", enum: actions.map((action) => action.type), description: common["type"]?.["description"] } },
    allOf: actions.map(({ type }) => chosen("type", type, { $ref: `#/$defs/${definitionName("action", type)}` }, true)),
  }
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Millrace pipeline",
    ...base,
    properties: {
      ...properties,
      auth_mode: { ...properties["auth_mode"], enum: authModes.map((mode) => mode.mode) },
      pipeline: { ...properties["pipeline"], items: { $ref: "#/$defs/action" } },
      handlers: { ...properties["handlers"], additionalProperties: { $ref: "#/$defs/action" } },
    },
    allOf: authModes.map(({ mode }) => {
      const config = { properties: { auth_config: { $ref: `#/$defs/${definitionName("auth", mode)}` } } }
      return chosen("auth_mode", mode, config, mode !== PipelineDocument.shape.auth_mode.parse(undefined))
    }),
    $defs,
  }
}

/** Applies `then` if the field has the value. Without `given` it also applies if the field is absent, for default values. */
function chosen(field: string, value: string, then: JsonSchema, given: boolean): JsonSchema {
  return { if: { properties: { [field]: { const: value } }, ...(given && { required: [field] }) }, then }
}

function actionSchema(action: AnyAction, common: Record<string, JsonSchema>): JsonSchema {
  const own = schemaOf(action.config, `${definitionName("action", action.type)}`)
  const type = { const: action.type, description: action.summary }
  return {
    ...own,
    title: action.type,
    description: action.description ?? action.summary,
    type: "object",
    properties: { ...common, ...(own["properties"] as JsonSchema | undefined), type },
    required: ["type", ...((own["required"] as string[] | undefined) ?? [])],
    additionalProperties: false,
  }
}

function authSchema(mode: AnyAuthMode): JsonSchema {
  const own = schemaOf(mode.config, definitionName("auth", mode.mode))
  if (own["properties"] === undefined) return own
  const reference = {
    type: "object",
    properties: { from_env: { type: "string", minLength: 1 } },
    required: ["from_env"],
    additionalProperties: false,
  }
  const secret = {
    anyOf: [{ type: "string", minLength: 1 }, reference],
    description: "The verification secret; in files only { from_env: NAME }.",
  }
  return { ...own, title: mode.mode, description: mode.summary, properties: { ...(own["properties"] as JsonSchema), secret } }
}

/** Rewrites the references of a schema for its new place. A recursive part refers to the root of its own schema. */
function schemaOf(schema: z.ZodType, home?: string): JsonSchema {
  const { $schema: _, "~standard": __, ...made } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema
  return home === undefined ? made : (rehomed(made, home) as JsonSchema)
}

function rehomed(value: unknown, home: string): unknown {
  if (Array.isArray(value)) return value.map((one) => rehomed(one, home))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      key === "$ref" && typeof one === "string" ? one.replace(/^#/, `#/$defs/${home}`) : rehomed(one, home),
    ]),
  )
}

function definitionName(kind: string, name: string): string {
  return `${kind}.${name}`
}
