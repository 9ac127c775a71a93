// Lists action types and auth modes, each with its JSON Schema.
import { z } from "zod"
import { AnyJson, defineOperation } from "#core"
import { Actions, AuthModes, Declarations } from "#core/engine"

const JsonSchema = z.record(z.string(), AnyJson)

/** Returns the schema of a person's input, before templates are parsed. */
function inputSchema(schema: z.ZodType): z.infer<typeof JsonSchema> {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as z.infer<typeof JsonSchema>
}

export const listActionTypes = defineOperation({
  name: "action_types.list",
  summary: "List the action types that pipelines can use, each with its JSON Schema.",
  http: { method: "GET", path: "/v1/action-types" },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: z.object({
    action_types: z.array(
      z.object({
        type: z.string(),
        summary: z.string(),
        description: z.string(),
        timing: z.enum(["commit", "deferred"]),
        config_schema: JsonSchema,
        result_schema: JsonSchema,
        examples: z.array(z.object({ title: z.string(), yaml: z.string() })),
      }),
    ),
  }),
  errors: [],
  resource: { uri: "millrace://action-types" },
  inject: { declared: Declarations },
  handle: ({ deps }) => ({
    action_types: deps.declared
      .items(Actions)
      .map(({ type, summary, description, timing, config, result, examples }) => ({
        type,
        summary,
        description: description ?? "",
        timing,
        config_schema: inputSchema(config),
        result_schema: inputSchema(result),
        examples: examples.map((example) => ({ ...example })),
      }))
      .sort((a, b) => (a.type < b.type ? -1 : 1)),
  }),
})

export const listAuthModes = defineOperation({
  name: "auth_modes.list",
  summary: "List the auth modes that pipelines can use, each with the JSON Schema of its auth_config.",
  http: { method: "GET", path: "/v1/auth-modes" },
  access: { scope: "event_pipelines:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: z.object({
    auth_modes: z.array(z.object({ mode: z.string(), summary: z.string(), description: z.string(), config_schema: JsonSchema })),
  }),
  errors: [],
  resource: { uri: "millrace://auth-modes" },
  inject: { declared: Declarations },
  handle: ({ deps }) => ({
    auth_modes: deps.declared
      .items(AuthModes)
      .map(({ mode, summary, description, config }) => ({
        mode,
        summary,
        description: description ?? "",
        config_schema: inputSchema(config),
      }))
      .sort((a, b) => (a.mode < b.mode ? -1 : 1)),
  }),
})
