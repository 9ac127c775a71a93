// May we write to this person, here, now, and why.
import { z } from "zod"
import { AnyJson, Clock, defineOperation, resultOf, Timestamp, timestamp } from "#core"
import { LeadsToken } from "../../leads/index.ts"
import { channels, kindOf, type Person, personFields, personOf, unreadable } from "../person.ts"
import { ConsentRules } from "../rules/rules.ts"
import { Purpose } from "./resource.ts"

const maxAddresses = 20

const Answer = z.object({
  rule: z.string(),
  verdict: z.enum(["allows", "forbids", "silent"]).describe("`silent`: the rule knows nothing that speaks against it."),
  why: z.string(),
  evidence: z.record(z.string(), AnyJson),
  until: Timestamp.optional().describe("Of what forbids for a time."),
})

export const checkConsent = defineOperation({
  name: "consents.check",
  summary: "May this person be written to on this channel now, and why.",
  description:
    "Asks every rule: erasure, consent, the suppression list, the channel's opt-outs, quiet hours. A person may be written to where none forbids it. Nothing is sent, and nothing recorded. A lead is asked about by each address or number that the channel has.",
  http: { method: "POST", path: "/v1/consents/check" },
  access: { scope: "consents:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    ...personFields,
    lead_id: z.string().trim().max(60).default("").describe("A lead, by UUID or 22-character reference, in place of an address or number."),
    channel: z.enum(channels),
    purpose: Purpose.default("service").describe("What for: `marketing`, `service`, or a purpose of your own."),
  }),
  output: z.object({
    allowed: z.boolean().describe("Whether some address or number may be written to."),
    checked_at: Timestamp,
    addresses: z.array(z.object({ address: z.string(), allowed: z.boolean(), rules: z.array(Answer) })),
  }),
  errors: ["invalid_argument", "not_found"],
  examples: [
    { input: { email: "ada@example.com", channel: "email", purpose: "marketing" } },
    {
      given: { lead: { operation: "leads.create", input: { phone: "+4930901820" } } },
      input: { lead_id: resultOf("lead.lead_reference"), channel: "sms" },
    },
  ],
  inject: { leads: LeadsToken, rules: ConsentRules, clock: Clock },
  async handle({ input: { lead_id, channel, purpose, ...given }, caller, deps: { leads, rules, clock } }) {
    const organization = caller.organization.id
    const now = clock.now()
    const people = lead_id === "" ? [personOf(given, await leads.region(organization))] : await ofLead()
    const addresses = await Promise.all(
      people.map(async (person) => {
        const answers = await rules.answers({ organization, person, channel, purpose, now })
        return { address: person.value, allowed: answers.every(({ verdict }) => verdict !== "forbids"), rules: answers }
      }),
    )
    return { allowed: addresses.some(({ allowed }) => allowed), checked_at: timestamp(now), addresses }

    async function ofLead(): Promise<Person[]> {
      if (given.email !== "" || given.phone !== "") throw unreadable("lead_id", "stands beside an address or number; give one of them")
      const { emails, phones } = await leads.require(organization, lead_id)
      const kind = kindOf(channel)
      return (kind === "email" ? emails : phones).slice(0, maxAddresses).map((value) => ({ kind, value }))
    }
  },
})
