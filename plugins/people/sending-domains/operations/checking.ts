// Operations to check a sending domain now, and to disable or enable it.
import { z } from "zod"
import { defineOperation, resultOf } from "#core"
import { RecordCheck } from "../checks/record-check.ts"
import { SendingDomainResource } from "../sending-domain.ts"
import { SendingDomainsToken } from "../sending-domains.ts"

const path = "/v1/sending-domains/{domain}"
const writing = { scope: "sending_domains:write", role: "admin" } as const
const input = z.strictObject({ domain: SendingDomainResource.ref })
const thatOf = (domain: string) => ({
  given: { domain: { operation: "sending_domains.register", input: { domain } } },
  input: { domain: resultOf("domain.domain") },
})

export const verifyDomain = defineOperation({
  name: "sending_domains.verify",
  summary: "Check a sending domain's DNS records now.",
  description:
    "Says of each record what is expected, what DNS has, where that was found and what to do. A domain becomes `active` only by a check that finds every record but MX. SERVFAIL and timeouts change nothing; an active domain fails after the same contradiction in three checks, ten minutes apart or more.",
  http: { method: "POST", path: `${path}/verify` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
  input,
  output: z.object({ sending_domain: SendingDomainResource.answer, records: z.array(RecordCheck) }),
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [thatOf("verify.example.com")],
  inject: { domains: SendingDomainsToken },
  async handle({ input: { domain }, caller, deps, work }) {
    const organization = caller.organization.id
    const checked = await deps.domains.check(work, organization, await deps.domains.require(organization, domain), true)
    return { sending_domain: SendingDomainResource.show(checked.domain), records: checked.records }
  },
  onConflict: async ({ error }) => error,
})

export const disableDomain = defineOperation({
  name: "sending_domains.disable",
  summary: "Take a sending domain out of use.",
  description: "Mail leaves from the default sender, and the domain is not checked.",
  http: { method: "POST", path: `${path}/disable` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input,
  output: SendingDomainResource.answer,
  errors: ["not_found", "aborted"],
  examples: [thatOf("disable.example.com")],
  inject: { domains: SendingDomainsToken },
  async handle({ input: { domain }, caller, deps, work }) {
    const organization = caller.organization.id
    return SendingDomainResource.show(deps.domains.setInUse(work, organization, await deps.domains.require(organization, domain), false))
  },
  onConflict: async ({ error }) => error,
})

export const enableDomain = defineOperation({
  name: "sending_domains.enable",
  summary: "Take a disabled sending domain into use again.",
  description: "It is `pending` until a check finds its records.",
  http: { method: "POST", path: `${path}/enable` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: true },
  input,
  output: SendingDomainResource.answer,
  errors: ["not_found", "aborted"],
  examples: [thatOf("enable.example.com")],
  inject: { domains: SendingDomainsToken },
  async handle({ input: { domain }, caller, deps, work }) {
    const organization = caller.organization.id
    return SendingDomainResource.show(deps.domains.setInUse(work, organization, await deps.domains.require(organization, domain), true))
  },
  onConflict: async ({ error }) => error,
})
