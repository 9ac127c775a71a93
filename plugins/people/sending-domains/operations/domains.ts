// Registering, listing, reading, changing and deleting sending domains (specification 2.9, 4.17).
import { z } from "zod"
import { defineList, defineOperation, omitReadOnly, readOnlyInput, resultOf } from "#core"
import { SendingDomainCollection } from "../collections.ts"
import { type DomainChange, SendingDomainsToken } from "../sending-domains.ts"
import { DomainField, identityFields, RegisteredDomainField, SendingDomain, shown } from "./resource.ts"

const path = "/v1/sending-domains"
const reading = { scope: "sending_domains:read", role: "guest" } as const
const writing = { scope: "sending_domains:write", role: "admin" } as const
const readOnlyFields = [
  "status",
  "error_reason",
  "dns_records",
  "from_email",
  "registered_receiving",
  "existing_mx_detected",
  "warnings",
  "last_checked_at",
  "created_at",
  "updated_at",
] as const

/** What an example needs: a domain of its own, since an organization registers each once. */
const registered = (domain: string) => ({ domain: { operation: "sending_domains.register", input: { domain } } })
const thatDomain = { domain: resultOf("domain.domain") }

export const registerDomain = defineOperation({
  name: "sending_domains.register",
  summary: "Register a domain to send from.",
  description:
    "Makes a DKIM key and answers the DNS records to create. Mail leaves from the domain once DNS shows them. `receiving` asks for replies to be received as well, and is fixed.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  input: z.strictObject({
    domain: DomainField,
    receiving: z.boolean().default(false).describe("Receive mail as well; fixed for the registration's life."),
    from_local_part: identityFields.from_local_part.default("hello"),
    from_name: identityFields.from_name.default(""),
    forward_to_email: identityFields.forward_to_email.default(""),
  }),
  output: SendingDomain,
  errors: ["invalid_argument", "already_exists", "unavailable"],
  examples: [{ input: { domain: "example.com", from_local_part: "hello", from_name: "Ada at Example" } }],
  inject: { domains: SendingDomainsToken },
  handle: async ({ input, caller, deps, work }) => shown(await deps.domains.register(work, caller.organization.id, input)),
  onConflict: async ({ error }) => error,
})

export const listDomains = defineList({
  name: "sending_domains.list",
  summary: "List the organization's sending domains, newest first.",
  path,
  access: reading,
  columns: ["domain", "status", "from_email", "error_reason", "last_checked_at"],
  collection: SendingDomainCollection,
  sort: { created_at: -1 },
  items: { sending_domains: SendingDomain },
  view: shown,
})

export const getDomain = defineOperation({
  name: "sending_domains.get",
  summary: "Read a sending domain.",
  http: { method: "GET", path: `${path}/{domain}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ domain: RegisteredDomainField }),
  output: SendingDomain,
  errors: ["not_found"],
  examples: [{ given: registered("read.example.com"), input: thatDomain }],
  inject: { domains: SendingDomainsToken },
  handle: async ({ input, caller, deps }) => shown(await deps.domains.require(caller.organization.id, input.domain)),
})

export const updateDomain = defineOperation({
  name: "sending_domains.update",
  summary: "Change a sending domain: only the fields that are given.",
  description: "Takes back what a read answered.",
  http: { method: "PATCH", path: `${path}/{domain}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp: { listed: true },
  input: z.strictObject({
    domain: RegisteredDomainField,
    forward_to_email: identityFields.forward_to_email.optional(),
    from_local_part: identityFields.from_local_part.optional(),
    from_name: identityFields.from_name.optional(),
    receiving_enabled: z.boolean().optional().describe("Needs `registered_receiving`."),
    ...readOnlyInput(readOnlyFields),
  }),
  output: SendingDomain,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ given: registered("change.example.com"), input: { ...thatDomain, from_local_part: "team", from_name: "The team" } }],
  inject: { domains: SendingDomainsToken },
  async handle({ input: { domain, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.domains.require(organization, domain)
    const given = omitReadOnly(fields, shown(stored), readOnlyFields)
    const wanted = Object.entries(given).filter(([name, value]) => value !== undefined && stored[name as keyof DomainChange] !== value)
    if (wanted.length === 0) return shown(stored)
    return shown(deps.domains.update(work, organization, stored, Object.fromEntries(wanted) as DomainChange))
  },
  onConflict: async ({ error }) => error,
})

export const deleteDomain = defineOperation({
  name: "sending_domains.delete",
  summary: "Delete a sending domain, with its DKIM key.",
  description: "Mail leaves from the default sender again. Registered again, the domain has another key and other records.",
  http: { method: "DELETE", path: `${path}/{domain}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ domain: RegisteredDomainField }),
  output: z.object({ domain: z.string(), deleted: z.literal(true) }),
  errors: ["not_found", "aborted"],
  examples: [{ given: registered("delete.example.com"), input: thatDomain }],
  inject: { domains: SendingDomainsToken },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.domains.require(organization, input.domain)
    deps.domains.remove(work, organization, stored)
    return { domain: stored.domain, deleted: true as const }
  },
  onConflict: async ({ error }) => error,
})
