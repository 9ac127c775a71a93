// Job: reads the templates of a business account from Meta, and removes templates deleted at Meta.
import { z } from "zod"
import { Clock, type Document, defineCollection, defineJob, derivedUuid, jobRef, Store, timestamp } from "#core"
import { Integrations } from "../../agents/integrations/index.ts"
import { outcomeOf } from "../../platform/outgoing-http/index.ts"
import { PhoneNumbers } from "./numbers/phone-number.ts"
import { fieldsOf, listOf, textOf } from "./received.ts"

/** Pages of 100 templates. */
const maxPages = 60

export const syncJob = jobRef("conversations.templates", z.object({ number: z.string() }))

export const syncTemplates = defineJob(syncJob, {
  summary: "Reads a business account's message templates from Meta.",
  inject: { store: Store, clock: Clock, numbers: PhoneNumbers, integrations: Integrations },
  async run({ payload: { number }, organization = "", deps: { store, clock, numbers, integrations }, work, signal }) {
    const line = (await numbers.find(organization, number))?.chat_app
    if (!line || line.business_account_id === "") return
    const { business_account_id } = line
    const checked_at = timestamp(clock.now())
    const found: StoredTemplate[] = []
    let after = ""
    for (let page = 0; page < maxPages; page++) {
      const query = { fields: "name,language,status,category", limit: 100, ...(after === "" ? {} : { after }) }
      const request = { method: "GET", path: `/${business_account_id}/message_templates`, query }
      const response = await integrations.call(organization, line.integration, request, { signal })
      outcomeOf(response)
      const answer = fieldsOf(response.json)
      if (!Array.isArray(answer["data"])) throw new Error(`${response.origin} did not answer with a list of templates`)
      for (const one of listOf(answer["data"])) {
        const named = { business_account_id, name: textOf(one["name"], 512), language: textOf(one["language"], 20) }
        const told = { status: textOf(one["status"], 40), category: textOf(one["category"], 40) }
        found.push({ id: templateId(organization, named), ...named, ...told, checked_at })
      }
      const paging = fieldsOf(answer["paging"])
      after = paging["next"] === undefined ? "" : textOf(fieldsOf(paging["cursors"])["after"], 1_000)
      if (after === "") break
    }
    const kept = new Set(found.map(({ id }) => id))
    const templates = work.in(TemplateCollection, organization)
    for await (const { id } of store.open(TemplateCollection, organization).stream({ business_account_id })) {
      if (!kept.has(id)) templates.remove(id, { optional: true })
    }
    for (const { id, organization_id: _, ...set } of new Map(found.map((one) => [one.id, one])).values())
      templates.update(id, { $set: { ...set } }, { upsert: true })
  },
})

export interface StoredTemplate extends Document {
  business_account_id: string
  name: string
  language: string
  /** Meta's status, such as APPROVED, PENDING, REJECTED or PAUSED. */
  status: string
  category: string
  checked_at: string
}

type Named = Pick<StoredTemplate, "business_account_id" | "name" | "language">

/** Returns the id of a stored template of a WhatsApp business account. */
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
