// POST /v1/integrations-connect.
import { z } from "zod"
import { Clock, callerKind, defineOperation, Ids, OutgoingHttp, Store, Vault } from "#core"
import { Organizations } from "../../../platform/organizations/index.ts"
import { BrokerToken } from "../broker/broker.ts"
import { connect } from "../connect.ts"
import { requireConnecting, requireRightTo } from "../connect-rights.ts"
import { isUsedByPipelines, managedAccess } from "../connections.ts"
import { HealthSchedule } from "../health/schedule.ts"
import { OAuth } from "../oauth/service.ts"
import { OrganizationApps } from "../own-apps/organization-apps.ts"

const ReturnUrl = z
  .string()
  .max(2_048)
  .refine(isReturnUrl, "expected an absolute http(s) URL without user name or password")
  .default("")
  .describe("Redirect target after authorization at connect_url; empty: the connection in the console.")

export const connectIntegration = defineOperation({
  name: "integrations.connect",
  summary: "Connect an app by credentials, or start an authorization at connect_url.",
  description:
    "Members connect private integrations, unless the organization's setting `members_may_connect` is false. Sharing, lending, and new credentials of a shared integration need an admin.",
  http: { method: "POST", path: "/v1/integrations-connect" },
  access: { scope: "integrations:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  input: z.strictObject({
    app: z.string().min(1).max(100).describe("App to connect."),
    credentials: z.record(z.string(), z.unknown()).optional().describe("Secrets; stored encrypted, never shown."),
    managed_access: z
      .enum(["", ...managedAccess])
      .optional()
      .describe("Lend the credentials to organizations that the caller's organization manages; refused for OAuth and broker apps."),
    name: z.string().trim().max(200).optional().describe("Display name; pipelines use its slug. The app's name when absent."),
    return_url: ReturnUrl,
    rotate_credentials: z
      .boolean()
      .default(false)
      .describe("Replace the credentials of the existing connection instead of adding a connection."),
    scopes: z.array(z.string().min(1).max(500)).max(100).optional(),
    share_with_org: z
      .boolean()
      .optional()
      .describe("Share with the organization, its pipelines included; private to the connector by default."),
  }),
  output: z.object({
    app: z.string(),
    connect_url: z.string(),
    integration_id: z.uuid(),
    next_step: z.string(),
    organization_name: z.string(),
    organization_slug: z.string(),
    status: z.string(),
  }),
  errors: ["invalid_argument", "permission_denied", "not_found", "already_exists", "aborted", "failed_precondition", "resource_exhausted"],
  examples: [
    {
      input: {
        app: "http",
        name: "CRM",
        credentials: { base_url: "https://api.crm.example.com/v2", headers: { Authorization: "Bearer crm-key" } },
        share_with_org: true,
      },
    },
  ],
  mcp: { clears: ["managed_access"], listed: true },
  inject: {
    store: Store,
    vault: Vault,
    apps: OrganizationApps,
    http: OutgoingHttp,
    clock: Clock,
    ids: Ids,
    schedule: HealthSchedule,
    oauth: OAuth,
    broker: BrokerToken,
    organizations: Organizations,
  },
  async handle({ input, caller, deps, work }) {
    // The surface has already removed the value. A second check, because lending requires a person's decision.
    const managed_access = callerKind(caller) === "agent" ? undefined : input.managed_access
    await requireConnecting(caller, deps.organizations)
    requireRightTo(caller, "connect", { shares: input.share_with_org, lends: managed_access === "managed_organizations" })
    const { connection, connectUrl, rotated } = await connect(deps, caller, work, { ...input, managed_access })
    return {
      app: connection.app,
      connect_url: connectUrl,
      integration_id: connection.id,
      next_step: nextStep(connection.slug, isUsedByPipelines(connection), connectUrl, rotated),
      organization_name: caller.organization.name,
      organization_slug: caller.organization.slug,
      status: connection.status,
    }
  },
})

function nextStep(slug: string, isUsable: boolean, connectUrl: string, rotated: boolean): string {
  if (connectUrl) return "Open connect_url and grant access."
  if (rotated) return `None: "${slug}" uses the new credentials from now on.`
  return isUsable
    ? `Use it in a pipeline: type integration.call with integration "${slug}".`
    : `It is private to you. To use "${slug}" in pipelines, share it: PATCH /v1/integrations/${slug} with share_with_org.`
}

function isReturnUrl(text: string): boolean {
  if (text === "") return true
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return url.username === "" && url.password === "" && !/^https?:\/\/[^/?#]*@/i.test(text) && !/[\s\\\p{Cc}]/u.test(text)
}
