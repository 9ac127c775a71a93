// Operations for the chat app's message templates: refresh them from Meta, and list the stored templates.
import { z } from "zod"
import { AppError, defineList, defineOperation, JobQueue, resultOf, Timestamp } from "#core"
import { PhoneNumbers } from "../numbers/phone-number.ts"
import { E164 } from "../phone.ts"
import { syncJob, TemplateCollection } from "../templates.ts"
import { connectedNumber } from "./send.ts"

const path = "/v1/voice/phone-numbers/{number}/templates"

const Template = z
  .object({
    name: z.string(),
    language: z.string(),
    status: z.string().describe("As Meta last told, such as APPROVED; only such a template is sent."),
    category: z.string(),
    checked_at: Timestamp,
  })
  .meta({ id: "MessageTemplate" })

export const refreshTemplates = defineOperation({
  name: "phone_numbers.refresh_templates",
  summary: "Read a number's message templates from Meta again.",
  description: "As a job; `phone_numbers.templates` has what it read.",
  http: { method: "POST", path },
  access: { scope: "conversations:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ number: E164 }),
  output: z.object({ job_id: z.string() }),
  errors: ["not_found", "failed_precondition"],
  examples: [{ given: connectedNumber("+493012345675"), input: { number: resultOf("number.number") } }],
  inject: { numbers: PhoneNumbers, queue: JobQueue },
  async handle({ input: { number }, caller, deps, work }) {
    const organization = caller.organization.id
    const { chat_app } = await deps.numbers.require(organization, number)
    if (!chat_app || chat_app.business_account_id === "") {
      const message = `${number} has no business account; give it "chat_app" with a business_account_id.`
      throw new AppError("failed_precondition", message, { reason: "no_business_account" })
    }
    return { job_id: deps.queue.enqueue(work, syncJob, { number }, { organization }) }
  },
})

export const listTemplates = defineList({
  name: "phone_numbers.templates",
  summary: "List a number's message templates, as Meta last told.",
  path,
  access: { scope: "conversations:read", role: "guest" },
  columns: ["name", "language", "status", "category"],
  input: { number: E164 },
  examples: [{ given: connectedNumber("+493012345676"), input: { number: resultOf("number.number") } }],
  inject: { numbers: PhoneNumbers },
  collection: TemplateCollection,
  async where({ number }, { organization, deps }) {
    const { chat_app } = await deps.numbers.require(organization, number)
    return { business_account_id: chat_app?.business_account_id ?? "" }
  },
  sort: { name: 1, language: 1 },
  items: { templates: Template },
  view: ({ name, language, status, category, checked_at }) => ({ name, language, status, category, checked_at }),
})
