// Checks whether the organization may write to a person now, with the reasons.
import { z } from "zod"
import { AnyJson, Clock, defineOperation, resultOf, Timestamp, timestamp } from "#core"
import { ConversationStanding, E164 } from "../../conversations/index.ts"
import { Leads } from "../../leads/index.ts"
import { type Channel, channels, kindOf, type Person, personFields, personOf, unreadable } from "../person.ts"
import { answerOf, answersOf, ConsentRules } from "../rules.ts"
import { Purpose } from "./ledger.ts"

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
    "Asks every rule: erasure, consent, and the suppression list of mail or the gate of the chat app and text messages, as sending does. A person may be written to where none forbids it. Nothing is sent, and nothing recorded. A lead is asked about by each address or number that the channel has.",
  http: { method: "POST", path: "/v1/consents/check" },
  access: { scope: "consents:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({
    ...personFields,
    lead_id: z.string().trim().max(60).default("").describe("A lead, by UUID or 22-character reference, in place of an address or number."),
    channel: z.enum(channels),
    purpose: z
      .union([z.literal(""), Purpose])
      .default("")
      .describe("What for: `marketing`, `service`, or a purpose of your own. That of the template when empty, else `service`."),
    from: z
      .union([z.literal(""), E164])
      .default("")
      .describe(
        "Chat app and text: the service's own number. When empty, the one that the person last had to do with, else the first that is connected.",
      ),
    template: z
      .strictObject({ name: z.string().max(512), language: z.string().max(20) })
      .optional()
      .describe("Chat app: the template that is to be sent; a text without it."),
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
  inject: { leads: Leads, rules: ConsentRules, standing: ConversationStanding, clock: Clock },
  async handle({ input: { lead_id, channel, purpose, from, template, ...given }, caller, deps: { leads, rules, standing, clock } }) {
    const organization = caller.organization.id
    if (!isMessage(channel) && from !== "") throw unreadable("from", "is of the chat app and text messages")
    if (channel !== "chat_app" && template) throw unreadable("template", "is of the chat app")
    const now = clock.now()
    const people = lead_id === "" ? [personOf(given, await leads.region(organization))] : await ofLead()
    const addresses = await Promise.all(
      people.map(async (person) => {
        const { value: address } = person
        const gate = isMessage(channel) && (await standing(organization, { channel, address, from, template: template ?? null }))
        const asked = purpose || (gate ? gate.purpose : "service")
        const answers = await answersOf(rules, { organization, person, channel, purpose: asked, now })
        if (gate) answers.push(...gate.findings.map(answerOf))
        return { address, allowed: answers.every(({ verdict }) => verdict !== "forbids"), rules: answers }
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

function isMessage(channel: Channel): channel is "chat_app" | "sms" {
  return channel === "chat_app" || channel === "sms"
}
