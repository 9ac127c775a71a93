// A token for one viewer of the organization's pages, for pipelines with signed-in viewers.
import { z } from "zod"
import { defineOperation, Timestamp, Uuid } from "#core"
import { Organizations } from "../directory.ts"
import { memberLinkOf, ViewerSessions } from "../viewer-sessions.ts"

export const createViewerSession = defineOperation({
  name: "viewer_sessions.create",
  summary: "Create a signed token for a viewer of one page, or of every page of the organization.",
  http: { method: "POST", path: "/v1/viewer-sessions" },
  access: { scope: "pages:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    artifact_id: Uuid.optional().describe("Page that the token is valid for; absent: every page of the organization."),
    visitor_id: z.string().min(1).max(200).optional().describe("Identity of the viewer on the page."),
    variant: z.string().min(1).max(200).optional().describe("Variant shown to the viewer."),
    ttl_s: z
      .int()
      .min(1)
      .max(7 * 86_400)
      .default(3_600)
      .describe("Lifetime of the token, in seconds."),
  }),
  output: z.object({ token: z.string().describe("For `Authorization: Bearer` or the cookie `mr_viewer`."), expires_at: Timestamp }),
  errors: ["invalid_argument"],
  examples: [{ input: { visitor_id: "visitor-17", ttl_s: 900 } }],
  secretOutput: ["token"],
  inject: { sessions: ViewerSessions, organizations: Organizations },
  async handle({ input, caller, deps }) {
    const member = await memberLinkOf(deps.organizations, caller)
    const { artifact_id, visitor_id, variant } = input
    const claims = {
      organization_id: caller.organization.id,
      ...(artifact_id === undefined ? {} : { artifact_id }),
      ...(visitor_id === undefined ? {} : { visitor_id }),
      ...(variant === undefined ? {} : { variant }),
      ...(caller.link ? { link: caller.link } : {}),
      ...(member ? { member } : {}),
    }
    return await deps.sessions.mint(claims, input.ttl_s)
  },
})
