// docs/reference/tests.md: the fields of a pipeline's test file and of its parts, with an example file. The page's test runs the
// example.
import type { z } from "zod"
import { matchers } from "../../rehearsal/matching.ts"
import * as parts from "../../rehearsal/test-document.ts"
import { example, fenced, fieldsOf, fieldTable, generatedNote, pageOf, table } from "../markdown.ts"

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
    fields(parts.CannedAnswer),
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
    fenced("yaml", example("rate.yaml")),
    "Its tests:",
    fenced("yaml", example("rate.test.yaml")),
    fenced("sh", "npx millrace pipelines test pipelines/rate.test.yaml"),
    fenced("text", "…\n4 passed"),
  ])
}
