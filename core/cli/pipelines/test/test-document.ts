// The document of a pipeline's tests, `NAME.test.yaml` beside `NAME.yaml`: events as their senders send them, and what
// must be left behind. The JSON Schema that editors use is generated from here.
import { z } from "zod"

const Text = z.record(z.string(), z.string())
const Value = z.json()

const Matcher =
  "Objects match where they hold at least these fields; lists match as a whole. { $contains: text }, { $matches: regex }, { $any: string | number | boolean | object | list }, { $absent: true } and { $exactly: value } stand for values."

const Answer = z
  .strictObject({
    status: z.int().min(100).max(599).default(200),
    headers: Text.default({}),
    json: Value.optional().describe("Body, sent as JSON."),
    body: z.string().optional().describe("Body, sent as it is."),
    fails: z.string().min(1).optional().describe("The call cannot be made, for this reason."),
  })
  .describe("What the other side answers.")
export type Answer = z.output<typeof Answer>

const Fixture = z.strictObject({
  method: z.string().optional().describe("Any method when absent."),
  url: z.string().describe("Whole URL or its beginning; for an integration the path below its base."),
  answers: z.array(Answer).min(1).optional().describe("One a call in turn; the last one again for further calls."),
  answer: Answer.optional(),
})
export type Fixture = z.output<typeof Fixture>

const Integration = z
  .strictObject({
    base_url: z.url().default("https://integration.test").describe("Where its API begins."),
    headers: Text.default({}).describe("Credentials, sent with every call."),
    calls: z.array(Fixture).default([]).describe("What it answers, by path."),
  })
  .describe("A connected integration of app `http`, by the slug that the pipeline names.")

const Signed = z
  .union([z.boolean(), z.strictObject({ secret: z.string().min(1).describe("Another secret than the pipeline's.") })])
  .describe("Signed as the sender signs (default), or not at all, or with another secret.")

export const EventDocument = z.strictObject({
  body: Value.optional().describe("A text is sent as it is, anything else as JSON."),
  form: Text.optional().describe("Body as a form's fields, in place of `body`."),
  body_file: z.string().min(1).optional().describe("Body from a file, relative to this one."),
  headers: Text.default({}),
  query: Text.default({}),
  signed: Signed.default(true),
})
export type EventDocument = z.output<typeof EventDocument>

const Mail = z.strictObject({
  to: z.union([z.string(), z.array(Value), z.record(z.string(), Value)]).optional(),
  cc: Value.optional(),
  bcc: Value.optional(),
  reply_to: Value.optional(),
  from: Value.optional(),
  subject: Value.optional(),
  text: Value.optional(),
  html: Value.optional(),
})

const Call = z.strictObject({
  method: Value.optional(),
  url: Value.optional(),
  headers: Value.optional(),
  body: Value.optional().describe("JSON where the body is."),
})
const Message = z.strictObject({
  channel: Value.optional(),
  event: Value.optional(),
  data: Value.optional(),
  public: z.boolean().optional(),
})

const Expect = z
  .strictObject({
    verdict: z.string().optional().describe("`verified`, or the cause of the refusal, such as `wrong_secret`."),
    status: z.enum(["accepted", "rejected", "failed"]).optional(),
    response: z.strictObject({ status: z.int().optional(), headers: Value.optional(), body: Value.optional() }).optional(),
    rows: z
      .record(z.string(), z.array(z.record(z.string(), Value)))
      .optional()
      .describe("All rows by dataset, in the order in which they were first written; a dataset that is not named has none."),
    emails: z.array(Mail).optional().describe("All mail that this event sends, in order."),
    calls: z.array(Call).optional().describe("All calls that this event makes, retries included, in order."),
    broadcasts: z.array(Message).optional().describe("All live messages of this event, in order."),
    journal: z
      .record(z.string(), Value)
      .optional()
      .describe("Fields of the journal entry: cause, error, steps, schema_errors, transformed, …"),
  })
  .describe(`What the event leaves behind. What is not named is not looked at. ${Matcher}`)
export type Expectations = z.output<typeof Expect>

const Exchange = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,6}(ms|s|m|h|d)$/, "a number and ms, s, m, h or d, such as 90s")
    .optional()
    .describe("Time that passes before this event."),
  event: EventDocument,
  expect: Expect,
})

const Test = z.strictObject({
  name: z.string().min(1).max(200),
  only: z.boolean().default(false).describe("Run this test alone."),
  clock: z.iso.datetime({ offset: true }).optional().describe("Time at which the (first) event arrives."),
  integrations: z.record(z.string(), Integration).default({}),
  http: z.array(Fixture).default([]).describe("What other systems answer."),
  mail: z.strictObject({ fails: z.int().min(1).describe("How many tries the mail server refuses.") }).optional(),
  event: EventDocument.optional(),
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
  secret: z.string().min(1).optional().describe("The pipeline's secret in these tests; one of the right form when absent."),
  with: z
    .array(z.string().min(1))
    .default([])
    .describe("Files of further pipelines of the organization, such as those that pipeline.send feeds."),
  clock: z.iso
    .datetime({ offset: true })
    .default("2026-01-15T09:30:00Z")
    .describe("Time at which events arrive, unless a test says otherwise."),
  tests: z.array(Test).min(1),
})
export type TestFile = z.output<typeof TestFile>

/** JSON Schema (2020-12) of the document. */
export function testFileSchema(): string {
  const { $schema, ...made } = z.toJSONSchema(TestFile, { io: "input", unrepresentable: "any" }) as Record<string, unknown>
  return JSON.stringify({ $schema, title: "Tests of a Millrace pipeline", ...made }, null, 2)
}
