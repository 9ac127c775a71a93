// The action type integration.call.
import { z } from "zod"
import { AnyJson, defineAction, definePlugin, type Json, type LintRule, SlugOrId, template, templateJson, templateRecord } from "#core"
import { Integrations } from "../../../agents/integrations/index.ts"
import { DataGuards, guardData, outcomeOf } from "../../../platform/outgoing-http/index.ts"

export default definePlugin({
  id: "action-integration-call",
  needs: ["integrations", "outgoing-http"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(integrationCall),
})

/** Lint rules of integration.call, in addition to its schema. */
const integrationCallRules = {
  "unencoded-path": {
    level: "warning",
    summary: "A value of the event in a path without encoding.",
    why: "A `/` or `..` in the value would address another resource.",
    remedy: "Filter the value through `url_encode`.",
    bad: 'pipeline:\n  - { type: integration.call, integration: crm, path: "/contacts/{{ event.id }}" }',
    good: 'pipeline:\n  - { type: integration.call, integration: crm, path: "/contacts/{{ event.id | url_encode }}" }',
  },
  "integration-path": {
    level: "error",
    summary: "A path that does not start with `/`.",
    why: "Paths are relative to the base URL of the integration; any other path would be refused for every event.",
    remedy: "Start the path with `/`.",
    bad: "pipeline:\n  - { type: integration.call, integration: crm, path: contacts }",
    good: "pipeline:\n  - { type: integration.call, integration: crm, path: /contacts }",
  },
} as const satisfies Record<string, LintRule>

const Scalar = z.union([z.string(), z.number(), z.boolean()])

/** Calls a connected integration. The pipeline names the integration and describes the request; the document holds no credentials. */
export const integrationCall = defineAction({
  type: "integration.call",
  summary: "Call a connected integration.",
  description:
    "Sends one request below the integration's base URL, with its credentials and an Idempotency-Key that stays the same over retries and replays. Any status other than 2xx fails the step; 408, 425, 429 and 5xx are retried.",
  timing: "deferred",
  idempotency: "idempotency_key",
  config: z.strictObject({
    integration: SlugOrId.describe("Slug or id of a connection that is shared with the organization."),
    method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]).default("POST"),
    path: template(z.string().min(1).max(4_096)).describe("Path below the base URL, starting with /. Filter values through url_encode."),
    query: templateRecord().optional().describe("Query parameters; null omits one, a list repeats it."),
    headers: templateRecord(Scalar).optional().describe("Additional headers; those of the credentials cannot be overridden."),
    body: templateJson().optional().describe("Sent as JSON unless a header sets another content type."),
  }),
  result: z.object({
    status: z.int(),
    body: AnyJson.describe("Parsed if the response is JSON, its text otherwise."),
    truncated: z.boolean().describe("True if the body was cut."),
  }),
  examples: [
    {
      title: "Make a contact in a CRM",
      yaml: `type: integration.call
integration: crm
method: POST
path: /contacts
body: { email: "{{ event.email }}", name: "{{ event.name }}" }`,
    },
    {
      title: "Update a record named by the event",
      yaml: `type: integration.call
integration: crm
method: PATCH
path: /contacts/{{ event.contact_id | url_encode }}
query: { notify: false }
body: { stage: won }`,
    },
  ],
  inject: { integrations: Integrations, guards: DataGuards },
  rules: integrationCallRules,
  lint(config) {
    const path = typeof config.path.source === "string" ? config.path.source : ""
    const findings = []
    const raw = path.match(/\{\{.*?\}\}/g)?.find((expression) => !/\|\s*(?:url_encode|slugify)\b/.test(expression))
    if (raw) {
      const message = `${raw} is not encoded in the path; a / in it would address another resource. Write ${raw.replace(/\s*\}\}$/, " | url_encode }}")}.`
      findings.push({ rule: "unencoded-path", level: "warning" as const, message, field: "path" })
    }
    if (!path.startsWith("/") && !path.startsWith("{")) {
      findings.push({
        rule: "integration-path",
        level: "error" as const,
        message: `The path "${path}" must start with "/".`,
        field: "path",
      })
    }
    return findings
  },
  async run({ config, context, deps }) {
    const { integration, method, path, query, body } = config
    const headers = Object.fromEntries(Object.entries(config.headers ?? {}).map(([name, value]) => [name, String(value)]))
    const { organization, event, dataSince, idempotencyKey, signal } = context
    const request = { method, path, query, headers, body }
    await guardData(deps.guards, organization.id, [event, config as Json], dataSince)
    return outcomeOf(await deps.integrations.call(organization.id, integration, request, { idempotencyKey, signal, comesAgain: true }))
  },
  destination: ({ integration }) => integration,
  target: ({ integration }, { organization, deps }) => deps.integrations.targetOf(organization, integration),
  preview({ integration, method, path, query, headers, body }): Json {
    return {
      integration,
      method,
      path,
      ...(query ? { query } : {}),
      ...(headers ? { headers } : {}),
      ...(body === undefined ? {} : { body }),
    }
  },
})
