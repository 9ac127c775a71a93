// The service's own phone numbers: whose they are, and by which connections messages leave from them.
import { type Document, defineCollection, derivedUuid } from "#core"

/** Meta's Cloud API. */
export interface ChatAppLine {
  /** Slug or id of the connection whose credentials are used. */
  integration: string
  phone_number_id: string
  /** Of the business account, by which templates are read; empty where none is. */
  business_account_id: string
}

/** Twilio. */
export interface TextLine {
  integration: string
  account_sid: string
  /** Where Twilio reports about messages: the inbound URL of a pipeline; empty for what the account says. */
  status_callback_url: string
}

export interface PhoneNumber extends Document {
  number: string
  agent_ref: string
  name: string
  chat_app: ChatAppLine | null
  sms: TextLine | null
  revision: number
  created_at: string
  updated_at: string
}

export function numberId(organization: string, number: string): string {
  return derivedUuid("phone number", organization, number)
}

export const PhoneNumberCollection = defineCollection<PhoneNumber>()({
  name: "phone_numbers",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [
    { fields: ["-created_at"] },
    { fields: ["chat_app.phone_number_id"], sparse: true },
    { fields: ["chat_app.integration"], sparse: true },
    { fields: ["sms.integration"], sparse: true },
  ],
})
