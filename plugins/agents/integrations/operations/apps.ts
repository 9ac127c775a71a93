// GET /v1/integration-apps: the available apps, and the credentials for each.
import { z } from "zod"
import { AnyJson, defineOperation } from "#core"
import type { AnyIntegrationApp } from "../app.ts"
import { OrganizationApps } from "../own-apps/organization-apps.ts"

const AppView = z.object({
  slug: z.string().describe("What `app` is when it is connected."),
  name: z.string(),
  summary: z.string(),
  auth_kinds: z
    .array(z.enum(["api_key", "basic", "service_account", "custom", "oauth2", "broker"]))
    .describe("`custom`: by credentials of a form of its own."),
  credentials_schema: z.record(z.string(), AnyJson).nullable().describe("JSON Schema of `credentials`; null where it takes none."),
  base_url: z.string().describe("Empty where each connection names its own."),
  authorization_url: z.string(),
  token_url: z.string(),
  revocation_url: z.string(),
  scopes: z.array(z.string()),
  test: z
    .object({ method: z.string(), path: z.string() })
    .nullable()
    .describe("The call that proves credentials; null where there is none."),
  rate_limits: z.array(z.object({ requests: z.int(), per_seconds: z.number().nullable(), counted: z.boolean(), note: z.string() })),
  docs_url: z.string(),
  own: z.boolean().describe("Of the organization's own."),
})
type AppView = z.infer<typeof AppView>

export const listIntegrationApps = defineOperation({
  name: "integration_apps.list",
  summary: "List the apps that can be connected, each with what its credentials are.",
  http: { method: "GET", path: "/v1/integration-apps" },
  access: { scope: "integrations:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["slug", "name", "auth_kinds", "summary"],
  input: z.strictObject({}),
  output: z.object({ integration_apps: z.array(AppView) }),
  errors: [],
  inject: { apps: OrganizationApps },
  async handle({ caller, deps }) {
    const apps = await deps.apps.all(caller.organization.id)
    return { integration_apps: apps.map(viewOf).sort((a, b) => a.slug.localeCompare(b.slug, "en")) }
  },
})

function viewOf(app: AnyIntegrationApp): AppView {
  const { document } = app
  const oauth2 = document?.auth.oauth2
  return {
    slug: app.name,
    name: document?.name ?? app.name,
    summary: app.summary,
    auth_kinds: authKinds(app),
    credentials_schema:
      app.kind === "native" ? (z.toJSONSchema(app.credentials, { io: "input" }) as Record<string, z.core.util.JSONType>) : null,
    base_url: document?.base_url ?? "",
    authorization_url: oauth2?.authorization_url ?? "",
    token_url: oauth2?.token_url ?? "",
    revocation_url: oauth2?.revocation_url ?? "",
    scopes: oauth2?.scopes ?? [],
    test: document ? { method: document.test.method, path: document.test.path } : null,
    rate_limits: (document?.rate_limits ?? []).map(({ per_seconds = null, ...limit }) => ({ ...limit, per_seconds })),
    docs_url: document?.docs_url ?? "",
    own: app.own !== undefined,
  }
}

function authKinds({ kind, document }: AnyIntegrationApp): AppView["auth_kinds"] {
  if (!document) return [kind === "native" ? "custom" : kind === "oauth" ? "oauth2" : "broker"]
  const { api_key, basic, service_account, oauth2, broker } = document.auth
  return [
    ...(api_key ? (["api_key"] as const) : []),
    ...(basic ? (["basic"] as const) : []),
    ...(service_account ? (["service_account"] as const) : []),
    ...(oauth2 ? (["oauth2"] as const) : []),
    ...(broker ? (["broker"] as const) : []),
  ]
}
