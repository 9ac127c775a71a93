// Registering, listing, reading, changing and removing the service's own phone numbers.
import { z } from "zod"
import { defineList, defineOperation, omitReadOnly, readOnlyInput, resultOf, SlugOrId, Timestamp } from "#core"
import { type PhoneNumber, PhoneNumberCollection } from "../numbers/collections.ts"
import { PhoneNumbersToken } from "../numbers/numbers.ts"
import { E164 } from "../phone.ts"

const path = "/v1/voice/phone-numbers"
const writing = { scope: "conversations:write", role: "admin" } as const
const reading = { scope: "conversations:read", role: "guest" } as const
const readOnlyFields = ["revision", "created_at", "updated_at"] as const

const Integration = SlugOrId.describe("Connection whose credentials are used; it must be shared with the organization.")
const id = (text: string) =>
  z
    .string()
    .trim()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "expected letters and digits")
    .describe(text)

const fields = {
  agent_ref: z.string().trim().max(200).describe("The managed voice agent that the number belongs to; empty: none."),
  name: z.string().trim().max(200),
  chat_app: z
    .strictObject({
      integration: Integration,
      phone_number_id: id("Meta's id of the number."),
      business_account_id: z
        .union([z.literal(""), id("")])
        .default("")
        .describe("Meta's id of the WhatsApp business account."),
    })
    .nullable()
    .describe("How chat messages leave, by Meta's Cloud API; null: not at all."),
  sms: z
    .strictObject({
      integration: Integration,
      account_sid: id("Twilio's id of the account, AC…."),
      status_callback_url: z
        .union([z.literal(""), z.url({ protocol: /^https?$/ }).max(2_000)])
        .default("")
        .describe("Inbound URL of the pipeline that takes Twilio's reports; empty: as the account says."),
    })
    .nullable()
    .describe("How text messages leave, by Twilio; null: not at all."),
}

const Resource = z
  .object({ number: z.string(), ...fields, revision: z.int(), created_at: Timestamp, updated_at: Timestamp })
  .meta({ id: "PhoneNumber" })

function shown({ id: _id, organization_id: _organization, ...rest }: PhoneNumber): z.input<typeof Resource> {
  return rest
}

const registered = (number: string) => ({ number: { operation: "phone_numbers.register", input: { number } } })
const thatNumber = { number: resultOf("number.number") }
const input = z.strictObject({ number: E164 })

export const registerNumber = defineOperation({
  name: "phone_numbers.register",
  summary: "Register a phone number that the organization writes from.",
  description: "The same number may be on the chat app, by Meta's Cloud API, and send text messages, by Twilio.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    number: E164.describe("The number, with its country code."),
    agent_ref: fields.agent_ref.default(""),
    name: fields.name.default(""),
    chat_app: fields.chat_app.default(null),
    sms: fields.sms.default(null),
  }),
  output: Resource,
  errors: ["invalid_argument", "already_exists"],
  examples: [{ input: { number: "+49 30 12345678", agent_ref: "agent-reception", name: "Reception" } }],
  inject: { numbers: PhoneNumbersToken },
  handle: async ({ input: given, caller, deps, work }) => shown(await deps.numbers.register(work, caller.organization.id, given)),
  onConflict: async ({ error }) => error,
})

export const listNumbers = defineList({
  name: "phone_numbers.list",
  summary: "List the organization's phone numbers, newest first.",
  path,
  access: reading,
  columns: ["number", "name", "agent_ref"],
  collection: PhoneNumberCollection,
  sort: { created_at: -1 },
  items: { phone_numbers: Resource },
  view: shown,
})

export const getNumber = defineOperation({
  name: "phone_numbers.get",
  summary: "Read a phone number.",
  http: { method: "GET", path: `${path}/{number}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input,
  output: Resource,
  errors: ["not_found"],
  examples: [{ given: registered("+493012345671"), input: thatNumber }],
  inject: { numbers: PhoneNumbersToken },
  handle: async ({ input: { number }, caller, deps }) => shown(await deps.numbers.require(caller.organization.id, number)),
})

export const updateNumber = defineOperation({
  name: "phone_numbers.update",
  summary: "Change a phone number: only the fields that are given.",
  description: "Takes back what a read answered.",
  http: { method: "PATCH", path: `${path}/{number}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    number: E164,
    agent_ref: fields.agent_ref.optional(),
    name: fields.name.optional(),
    chat_app: fields.chat_app.optional(),
    sms: fields.sms.optional(),
    ...readOnlyInput(readOnlyFields),
  }),
  output: Resource,
  errors: ["invalid_argument", "not_found", "aborted"],
  examples: [{ given: registered("+493012345672"), input: { ...thatNumber, name: "Sales", agent_ref: "agent-sales" } }],
  inject: { numbers: PhoneNumbersToken },
  async handle({ input: { number, ...given }, caller, deps, work }) {
    const organization = caller.organization.id
    const stored = await deps.numbers.require(organization, number)
    const wanted = Object.entries(omitReadOnly(given, shown(stored), readOnlyFields)).filter(([, value]) => value !== undefined)
    return shown(await deps.numbers.update(work, organization, stored, Object.fromEntries(wanted)))
  },
})

export const removeNumber = defineOperation({
  name: "phone_numbers.remove",
  summary: "Remove a phone number; nothing is sent from it any more.",
  description: "Its conversations stay.",
  http: { method: "DELETE", path: `${path}/{number}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input,
  output: z.object({ number: z.string(), removed: z.literal(true) }),
  errors: ["not_found", "aborted"],
  examples: [{ given: registered("+493012345673"), input: thatNumber }],
  inject: { numbers: PhoneNumbersToken },
  async handle({ input: { number }, caller, deps, work }) {
    const organization = caller.organization.id
    deps.numbers.remove(work, organization, await deps.numbers.require(organization, number))
    return { number, removed: true as const }
  },
})
