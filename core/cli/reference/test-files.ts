// docs/reference/tests.md: the fields of a pipeline's test file, and of all that stands in it, with a file that the page's
// test has run.
import type { z } from "zod"
import { matchers } from "../../rehearsal/matching.ts"
import * as parts from "../../rehearsal/test-document.ts"
import { fenced, fieldsOf, fieldTable, generatedNote, pageOf, table } from "../markdown.ts"

const pipeline = `# pipelines/rate.yaml
name: Rate
state: active
auth_mode: hmac_sha256
auth_config: { secret: { from_env: RATE_SECRET } }
dedupe: { key: "{{ payload.id }}", window: 1h }
pipeline:
  - id: look_up
    type: http.request
    await: true
    retry: { max_attempts: 2, initial_delay_ms: 1 }
    url: https://rates.example.com/latest
    body: { currency: "{{ event.currency }}" }
  - id: contact
    type: integration.call
    integration: crm
    path: /contacts
    body: { email: "{{ event.email }}" }
  - id: tell
    type: email.send
    to: sales@example.com
    heading: "{{ event.email }} asks for {{ event.currency }}"
  - type: respond
    body: { rate: "{{ steps.look_up.body.rate }}" }
`

const tests = `# pipelines/rate.test.yaml
clock: 2026-03-01T12:00:00Z
tests:
  - name: answers with the rate that another system gave at the second try
    http:
      - url: https://rates.example.com/
        answers: [{ status: 503 }, { json: { rate: 1.25 } }]
    integrations:
      crm:
        base_url: https://crm.example.com/v1
        calls: [{ method: POST, url: /contacts, answer: { status: 201, json: { id: 7 } } }]
    event: { body: { id: a, email: ada@example.com, currency: eur } }
    expect:
      verdict: verified
      response: { status: 200, body: { $exactly: { rate: 1.25 } } }
      calls:
        - { url: https://rates.example.com/latest }
        - { url: https://rates.example.com/latest, body: { currency: eur } }
        - { url: https://crm.example.com/v1/contacts, body: { email: ada@example.com } }
      emails: [{ to: sales@example.com, subject: { $contains: eur }, text: { $any: string } }]
  - name: takes an order for a repeat within the hour, though the mail server refused at first
    http: [{ url: https://rates.example.com/, answer: { json: { rate: 2 } } }]
    integrations: { crm: { calls: [{ url: /contacts }] } }
    mail: { fails: 1 }
    events:
      - event: { body: { id: a, email: ada@example.com, currency: usd } }
        expect: { response: { status: 200 }, journal: { repeat_of: { $absent: true } } }
      - after: 30m
        event: { body: { id: a, email: ada@example.com, currency: usd } }
        expect: { status: accepted, emails: [], journal: { repeat_of: { $any: string } } }
  - name: answers 500 when the other system cannot be reached, and has tried twice
    http: [{ url: https://rates.example.com/, answer: { fails: connection refused } }]
    event: { body: { id: a, email: ada@example.com, currency: eur } }
    expect:
      status: failed
      response: { status: 500 }
      emails: []
      journal: { error: { step: look_up }, steps: { look_up: { attempts: 2 } } }
  - name: refuses what carries another secret
    clock: 2026-03-01T23:59:59+01:00
    event: { body: { id: b }, signed: { secret: not-the-secret } }
    expect: { verdict: wrong_secret, response: { status: 401 }, rows: {}, calls: [] }
`

export function testsReference(): string {
  const fields = (schema: z.ZodType) => fieldTable(fieldsOf(schema))
  return pageOf([
    generatedNote("the schema of test files"),
    "# The tests of a pipeline",
    "`NAME.test.yaml` beside `NAME.yaml` holds events as senders send them, and their expected effects. `npx millrace pipelines test` runs them through the real engine, without a service or a network; [your first pipeline](../first-pipeline.md) shows a first one. Editors complete and check the file by the schema that `npx millrace schema --into config` writes.",
    fields(parts.TestFile),
    "## tests[]",
    "One event and its expectation, or several as `events`.",
    fields(parts.Test),
    "## events[]",
    fields(parts.Exchange),
    "## event",
    fields(parts.EventDocument),
    "## http[]",
    "So are the `calls` of an integration.",
    fields(parts.Fixture),
    "## answer",
    "So is each of `answers`.",
    fields(parts.Answer),
    "## integrations",
    "By slug, each a connected integration of app `http`.",
    fields(parts.Integration),
    "## mail",
    fields(parts.MailServer),
    "## expect",
    "Fields that are absent are not checked. An object matches if it has at least the given fields; a list matches element by element, and in length.",
    fields(parts.Expect),
    "### response",
    fields(parts.Response),
    "### emails[]",
    fields(parts.Mail),
    "### calls[]",
    fields(parts.Call),
    "### broadcasts[]",
    fields(parts.Message),
    "### Matchers",
    "An object with one of these fields matches a value, anywhere below `expect`.",
    table(
      ["matcher", "fits"],
      Object.values(matchers).map(({ written, fits }) => [`\`${written}\``, fits]),
    ),
    "## Example",
    "The pipeline:",
    fenced("yaml", pipeline),
    "Its tests:",
    fenced("yaml", tests),
    fenced("sh", "npx millrace pipelines test pipelines/rate.test.yaml"),
    fenced("text", "…\n4 passed"),
  ])
}
