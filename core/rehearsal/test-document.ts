// The document of a pipeline's tests, `NAME.test.yaml` beside `NAME.yaml`: events as senders send them, and their expected
// effects. The JSON Schema for editors is generated from here.
import { z } from "zod"
import { AnyJson } from "../contract/fields.ts"
import { matchers } from "./matching.ts"

const Text = z.record(z.string(), z.string())
const Value = AnyJson

const Matcher = `Objects match where they hold at least these fields; lists match as a whole. ${Object.values(matchers)
  .map(({ written }) => written)
  .join(", ")} stand for values.`

export const CannedAnswer = z
  .strictObject({
    status: z.int().min(100).max(599).default(200).describe("HTTP status."),
    headers: Text.default({}).describe("Headers, by name."),
    json: Value.optional().describe("Body, sent as JSON."),
    body: z.string().optional().describe("Body, sent unchanged."),
    fails: z.string().min(1).optional().describe("The call fails with this message."),
  })
  .describe("The response.")
export type CannedAnswer = z.output<typeof CannedAnswer>

export const Fixture = z.strictObject({
  method: z.string().optional().describe("Any method when absent."),
  url: z.string().describe("Whole URL or its beginning; for an integration the path below its base."),
  answers: z.array(CannedAnswer).min(1).optional().describe("One per call, in order; further calls get the last one."),
  answer: CannedAnswer.optional().describe("The response to every call; 200 without a body when neither is given."),
})
export type Fixture = z.output<typeof Fixture>

export const Integration = z
  .strictObject({
    base_url: z.url().default("https://integration.test").describe("Base URL of its API."),
    headers: Text.default({}).describe("Credentials, sent with every call."),
    calls: z.array(Fixture).default([]).describe("Its responses, by path."),
  })
  .describe("A connected integration of app `http`, by the slug that the pipeline names.")

const Signed = z
  .union([
    z.boolean(),
    z.strictObject({
      secret: z.string().min(1).optional().describe("Another secret than the pipeline's."),
      at: z.iso.datetime({ offset: true }).optional().describe("Time of the signature; by default the time at which the event arrives."),
    }),
  ])
  .describe("Whether the event is signed: as its sender signs, not at all, or with another secret or at another time.")

export const EventDocument = z.strictObject({
  body: Value.optional().describe("A string is sent unchanged, anything else as JSON."),
  form: Text.optional().describe("Body as a form's fields, in place of `body`."),
  body_file: z.string().min(1).optional().describe("Body from a file, relative to this one."),
  headers: Text.default({}).describe("Headers, by name, in addition to those of the body and the signature."),
  query: Text.default({}).describe("Query parameters of the inbound URL, by name."),
  signed: Signed.default(true),
})
export type EventDocument = z.output<typeof EventDocument>

export const Mail = z.strictObject({
  to: z
    .union([z.string(), z.array(Value), z.record(z.string(), Value)])
    .optional()
    .describe("The only recipient, or a list of all."),
  cc: Value.optional().describe("A list of addresses."),
  bcc: Value.optional().describe("A list of addresses."),
  reply_to: Value.optional().describe("A list of the Reply-To addresses."),
  from: Value.optional().describe("The sender."),
  subject: Value.optional().describe("The subject line."),
  text: Value.optional().describe("The plain text of the mail."),
  html: Value.optional().describe("The HTML of the mail."),
})

export const Call = z.strictObject({
  method: Value.optional().describe("HTTP method, in capitals."),
  url: Value.optional().describe("Whole URL, with its query."),
  headers: Value.optional().describe("Headers, by name in lower case."),
  body: Value.optional().describe("Parsed if the body is JSON."),
})
export const Message = z.strictObject({
  channel: Value.optional().describe("The channel's name."),
  event: Value.optional().describe("The event's name."),
  data: Value.optional().describe("The payload."),
  public: z.boolean().optional().describe("Whether anonymous viewers of the endpoint receive it."),
})

export const Response = z.strictObject({
  status: z.int().optional().describe("HTTP status."),
  headers: Value.optional().describe("Headers, by name in lower case."),
  body: Value.optional().describe("Parsed if the body is JSON."),
})

export const Expect = z
  .strictObject({
    verdict: z.string().optional().describe("`verified`, or the cause of the refusal, such as `wrong_secret`."),
    status: z.enum(["accepted", "rejected", "failed"]).optional().describe("Status of the event, as in its journal entry."),
    response: Response.optional().describe("The response to the sender."),
    rows: z
      .record(z.string(), z.array(z.record(z.string(), Value)))
      .optional()
      .describe("All rows by dataset, in the order in which they were first written; other datasets must have none."),
    emails: z.array(Mail).optional().describe("All mail that this event sends, in order."),
    calls: z.array(Call).optional().describe("All calls that this event makes, retries included, in order."),
    broadcasts: z.array(Message).optional().describe("All live messages of this event, in order."),
    journal: z
      .record(z.string(), Value)
      .optional()
      .describe("Fields of the journal entry: cause, error, steps, schema_errors, transformed, …"),
  })
  .describe(`The expected effects. Fields that are absent are not checked. ${Matcher}`)
export type Expectations = z.output<typeof Expect>

export const Exchange = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,6}(ms|s|m|h|d)$/, "a number and ms, s, m, h or d, such as 90s")
    .optional()
    .describe("Time that passes before this event."),
  event: EventDocument.describe("The event as its sender sends it."),
  expect: Expect,
})

export const MailServer = z.strictObject({ fails: z.int().min(1).describe("Number of attempts that the mail server refuses.") })

export const Test = z.strictObject({
  name: z.string().min(1).max(200).describe("What is tested, as a sentence that starts with a verb."),
  only: z.boolean().default(false).describe("Run this test alone."),
  clock: z.iso.datetime({ offset: true }).optional().describe("Time at which the (first) event arrives."),
  integrations: z.record(z.string(), Integration).default({}).describe("Connected integrations, by slug."),
  http: z
    .array(Fixture)
    .default([])
    .describe("Responses of other systems; calls do not leave the test, and one that matches none of these fails."),
  mail: MailServer.optional().describe("A mail server that refuses at first; absent: it accepts everything."),
  event: EventDocument.optional().describe("The event as its sender sends it."),
  expect: Expect.optional(),
  events: z.array(Exchange).min(1).optional().describe("Several events one after the other, in place of `event` and `expect`."),
})
export type TestDocument = z.output<typeof Test>

export const TestFile = z.strictObject({
  pipeline: z
    .string()
    .min(1)
    .optional()
    .describe("File of the pipeline, relative to this one; the file of the same name without `.test` when absent."),
  secret: z.string().min(1).optional().describe("The pipeline's secret in these tests; generated when absent."),
  with: z
    .array(z.string().min(1))
    .default([])
    .describe("Files of further pipelines of the organization, such as those that this one sends to."),
  clock: z.iso
    .datetime({ offset: true })
    .default("2026-01-15T09:30:00Z")
    .describe("Time at which events arrive, unless a test says otherwise."),
  tests: z.array(Test).min(1).describe("Tests are independent: each starts with empty datasets."),
})
export type TestFile = z.output<typeof TestFile>

/** JSON Schema (2020-12) of the document. */
export function testFileSchema(): string {
  const { $schema, ...made } = z.toJSONSchema(TestFile, { io: "input", unrepresentable: "any" }) as Record<string, unknown>
  return JSON.stringify({ $schema, title: "Tests of a Millrace pipeline", ...made }, null, 2)
}
