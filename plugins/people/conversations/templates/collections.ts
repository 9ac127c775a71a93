// Message templates of a WhatsApp business account, with the status that Meta last told.
import { type Document, defineCollection, derivedUuid } from "#core"

export interface StoredTemplate extends Document {
  business_account_id: string
  name: string
  language: string
  /** Meta's word, such as APPROVED, PENDING, REJECTED or PAUSED. */
  status: string
  category: string
  checked_at: string
}

type Named = Pick<StoredTemplate, "business_account_id" | "name" | "language">

export function templateId(organization: string, { business_account_id, name, language }: Named): string {
  return derivedUuid("message template", organization, business_account_id, name, language)
}

export const TemplateCollection = defineCollection<StoredTemplate>()({
  name: "message_templates",
  scope: "organization",
  audit: "size",
  times: ["checked_at"],
  indexes: [{ fields: ["business_account_id", "name", "language"] }],
})
