// The caller's organization and its settings.
import { z } from "zod"
import { defineOperation, Name, Slug, Timestamp, Uuid } from "#core"
import { requireFreshSignIn } from "#core/engine"
import type { Organization } from "../collections.ts"
import { type OrganizationChange, Organizations, requireOrganization } from "../directory.ts"
import { slugOfAnother } from "./creation.ts"

export const TimeZone = z
  .string()
  .min(1)
  .max(100)
  .refine(isTimeZone, "expected an IANA time zone, such as Europe/Berlin or UTC")
  .describe("IANA time zone of the organization; what runs at a time of day runs by it.")

const MembersMayConnect = z.boolean().describe("Members connect private integrations; false: only admins connect apps.")

const NotificationAddress = z
  .email()
  .max(254)
  .toLowerCase()
  .nullable()
  .describe("Address for notices to the admins, such as pending approvals; null: each admin's own.")

const RequireSecondPerson = z
  .boolean()
  .nullable()
  .describe("Nobody decides own requests for approval. Null: while two or more admins or owners exist.")

export const OrganizationResource = z
  .object({
    id: Uuid,
    slug: z.string(),
    name: z.string(),
    time_zone: z.string(),
    members_may_connect: MembersMayConnect,
    notification_address: NotificationAddress,
    require_second_person: RequireSecondPerson,
    archived_at: Timestamp.nullable().describe("Since it is archived, read-only and without events; null: it is in use."),
    suspended_at: Timestamp.nullable().describe("Since the operator suspended it."),
    suspension_note: z.string().nullable().describe("The operator's reason."),
    created_at: Timestamp,
  })
  .meta({ id: "Organization" })

export const getOrganization = defineOperation({
  name: "organization.get",
  summary: "Read the organization and its settings.",
  http: { method: "GET", path: "/v1/organization" },
  access: { scope: "organization:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: OrganizationResource,
  errors: [],
  inject: { organizations: Organizations },
  handle: async ({ caller, deps }) => toResource(await requireOrganization(deps.organizations, caller.organization.id)),
})

export const updateOrganization = defineOperation({
  name: "organization.update",
  summary: "Change the organization's settings: only the fields that are given.",
  description: "An earlier slug still names the organization, in `X-Organization-ID` and in links. No other organization gets it.",
  http: { method: "PATCH", path: "/v1/organization" },
  access: { scope: "organization:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    name: Name.optional(),
    slug: Slug.optional(),
    time_zone: TimeZone.optional(),
    members_may_connect: MembersMayConnect.optional(),
    notification_address: NotificationAddress.optional(),
    require_second_person: RequireSecondPerson.optional(),
  }),
  output: OrganizationResource,
  errors: ["invalid_argument", "already_exists"],
  examples: [{ input: { time_zone: "Europe/Berlin" } }],
  mcp: { clears: ["require_second_person"] },
  inject: { organizations: Organizations },
  async handle({ input, caller, deps, work }) {
    const organization = await requireOrganization(deps.organizations, caller.organization.id)
    if (input.require_second_person !== undefined) requireFreshSignIn(caller, "Changing require_second_person")
    const change = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as OrganizationChange
    if (Object.keys(change).length === 0) return toResource(organization)
    const owner = change.slug === undefined ? undefined : await deps.organizations.bySlug(change.slug)
    if (change.slug !== undefined && owner && owner.id !== organization.id) throw slugOfAnother(change.slug)
    return toResource(await deps.organizations.update(work, organization, change))
  },
  onConflict: async ({ error }) => (error.code === "already_exists" ? slugOfAnother() : error),
})

export function toResource({ archived, suspended, ...organization }: Organization) {
  const { id, slug, name, time_zone, members_may_connect, notification_address, require_second_person, created_at } = organization
  return {
    ...{ id, slug, name, time_zone, members_may_connect, notification_address, require_second_person },
    archived_at: archived?.at ?? null,
    suspended_at: suspended?.at ?? null,
    suspension_note: suspended?.note ?? null,
    created_at,
  }
}

export function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: text })
    return true
  } catch {
    return false
  }
}
