// The service's own phone numbers: their voice agents, and their connections for messages.
import { z } from "zod"
import { AppError, type Deps, defineResource, derivedUuid, type ItemOf, namedKey, SlugOrId, Store } from "#core"
import { Integrations } from "../../../agents/integrations/index.ts"
import { E164 } from "../phone.ts"

const Integration = SlugOrId.describe("Connection whose credentials are used; it must be shared with the organization.")
const id = (text: string) =>
  z
    .string()
    .trim()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "expected letters and digits")
    .describe(text)

const fields = {
  agent_ref: z.string().trim().max(200).describe("The managed voice agent of the number. Empty: no agent."),
  name: z.string().trim().max(200),
  chat_app: z
    .strictObject({
      integration: Integration,
      phone_number_id: id("Meta's id of the number."),
      business_account_id: z
        .union([z.literal(""), id("")])
        .default("")
        .describe("Meta's id of the WhatsApp business account. Its templates are read by this id."),
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

function numberId(organization: string, number: string): string {
  return derivedUuid("phone number", organization, number)
}

export const PhoneNumberResource = defineResource()({
  name: "phone_number",
  plural: "phone_numbers",
  title: "PhoneNumber",
  path: "/v1/voice/phone-numbers",
  collection: {
    name: "phone_numbers",
    indexes: [
      { fields: ["-created_at"] },
      { fields: ["chat_app.phone_number_id"], sparse: true },
      { fields: ["chat_app.integration"], sparse: true },
      { fields: ["sms.integration"], sparse: true },
    ],
  },
  access: { read: { scope: "conversations:read", role: "guest" }, write: { scope: "conversations:write", role: "admin" } },
  key: namedKey("number", E164.describe("The number, with its country code."), {
    idOf: numberId,
    taken: registeredAlready,
  }),
  fields,
  defaults: { agent_ref: "", name: "", chat_app: null, sms: null },
  list: { sort: { created_at: -1 } },
  columns: ["number", "name", "agent_ref"],
  examples: [{ input: { number: "+49 30 12345678", agent_ref: "agent-reception", name: "Reception" } }],
  change: { name: "Sales", agent_ref: "agent-sales" },
  verbs: {
    create: {
      name: "phone_numbers.register",
      summary: "Register a phone number that the organization writes from.",
      description: "The same number may be on the chat app, by Meta's Cloud API, and send text messages, by Twilio.",
    },
    update: { description: "Takes back the answer of a read." },
    delete: {
      name: "phone_numbers.remove",
      summary: "Remove a phone number. Nothing is sent from it any more.",
      description: "Its conversations stay.",
    },
  },
  inject: { integrations: Integrations },
  async check(_number, { change, organization, deps }) {
    for (const field of ["chat_app", "sms"] as const) {
      const line = change[field]
      if (!line || (await deps.integrations.find(organization, line.integration))) continue
      const message = `No integration ${JSON.stringify(line.integration)} is connected for the organization; connect one with share_with_org.`
      const problems = [{ path: `${field}.integration`, message: "is not connected" }]
      throw new AppError("invalid_argument", message, { reason: "number_connection_missing", fields: problems })
    }
  },
  gone: {
    fields: { number: z.string(), removed: z.literal(true) },
    read: ({ number }) => ({ number, removed: true as const }),
  },
})

function registeredAlready(number: string): Error {
  return new AppError("already_exists", `The organization has registered ${number} already.`, { reason: "phone_number_registered" })
}

export type PhoneNumber = ItemOf<typeof PhoneNumberResource>

/** Finds phone numbers of an organization. */
export class PhoneNumbers {
  static readonly inject = { store: Store }
  readonly #store: Store

  constructor({ store }: Deps<typeof PhoneNumbers.inject>) {
    this.#store = store
  }

  find(organization: string, number: string): Promise<PhoneNumber | undefined> {
    return PhoneNumberResource.items.find(this.#store, organization, number)
  }

  /** As `find`, but throws `not_found`. */
  require(organization: string, number: string): Promise<PhoneNumber> {
    return PhoneNumberResource.items.require(this.#store, organization, number)
  }

  /** Returns the registered numbers among these, by number. */
  async among(organization: string, numbers: readonly string[]): Promise<ReadonlyMap<string, PhoneNumber>> {
    if (numbers.length === 0) return new Map()
    const ids = [...new Set(numbers)].map((number) => numberId(organization, number))
    const found = await this.#store.open(PhoneNumberResource.collection, organization).find({ id: { $in: ids } }, { limit: ids.length })
    return new Map(found.map((one) => [one.number, one]))
  }
}
