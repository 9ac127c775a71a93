// Operation: creates a case from real data, a stored event or a page.
import { z } from "zod"
import { Clock, defineOperation, Ids, Name, resultOf, Settings, Slug, SlugOrId, Store, Uuid } from "#core"
import { EventPipelines } from "../../../capture/pipelines/index.ts"
import { Pages } from "../../../pages/pages/index.ts"
import { captured } from "../capture.ts"
import { bySuite, EvalCases, EvalSuites, madeSuite, maxInput, ofThatSuite } from "../suites.ts"

const Source = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("event"),
      pipeline: SlugOrId.describe("Slug or UUID of the pipeline."),
      execution_id: Uuid.describe("The execution whose payload is stored."),
    }),
    z.strictObject({
      kind: z.literal("page"),
      page: SlugOrId.describe("Slug or UUID of the page."),
      variant: z.string().min(1).max(64).optional().describe("The first one when absent."),
    }),
  ])
  .describe("What the agent is given: an event's payload, or the text of a page.")

const { expectation, rubric, critical } = EvalCases.fields

export const captureCase = defineOperation({
  name: "evals.capture_case",
  summary: "Make a case of a stored event or a page; values that look like secrets are redacted.",
  http: { method: "POST", path: "/v1/evals/suites/{suite}/capture" },
  access: { scope: "evals:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...bySuite,
    source: Source,
    instruction: z.string().trim().max(10_000).default("").describe("Put before it: what the agent is to do with it."),
    expectation,
    rubric: rubric.default(""),
    critical: critical.default(false),
    name: Name.optional().describe("Made from the source when absent."),
    slug: Slug.optional().describe("Made from the name when absent, with -2 where that is taken."),
  }),
  output: EvalCases.answer,
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition"],
  examples: [
    {
      given: { ...madeSuite, page: "pages.create" },
      input: {
        ...ofThatSuite,
        source: { kind: "page", page: resultOf("page.slug") },
        instruction: "Name the page's promise in one sentence.",
        expectation: "Names what the page promises, and nothing that it does not say.",
      },
    },
  ],
  inject: {
    store: Store,
    clock: Clock,
    ids: Ids,
    settings: Settings,
    pipelines: EventPipelines,
    pages: Pages,
  },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const { suite: ref, source, instruction, name, ...fields } = input
    const suite = await EvalSuites.items.require(deps.store, organization, ref)
    const from = await captured(deps, organization, source)
    const text = instruction === "" ? from.text : `${instruction}\n\n${from.text}`
    const newCase = { ...fields, name: name ?? from.name, input: text.slice(0, maxInput).toWellFormed() }
    const args = { organization, caller, deps, work, container: suite }
    return EvalCases.show(await EvalCases.changes.add(args, newCase, { source: from.source }))
  },
})
