// Suites, cases and agents as callers see them.
import { z } from "zod"
import { resultOf, SlugOrId, Timestamp, Uuid } from "#core"
import type { StoredCase, StoredSuite } from "../collections.ts"

export const suiteFields = {
  description: z.string().trim().max(4_000),
  agent_key: z.string().trim().max(100).describe("Key of the agent that is judged (GET /v1/agents); a run needs one."),
  judge_model: z
    .string()
    .trim()
    .max(200)
    .describe("Name of a configured model (plugins.settings.models); empty: the one configured for judging."),
  pass_threshold: z.int().min(0).max(100).describe("Percent of the score from which a run passes."),
  evaluate_artifact: z.boolean().describe("Judge the page that the agent made, beside what it answered."),
  cron_enabled: z.boolean().describe("Run each night, in the organization's time zone."),
}

export const SuiteResource = z
  .object({
    agent_key: z.string(),
    created_at: Timestamp,
    created_by_user_id: Uuid.nullable().describe("null where a service principal made it."),
    cron_enabled: z.boolean(),
    description: z.string(),
    evaluate_artifact: z.boolean(),
    id: Uuid,
    judge_model: z.string(),
    name: z.string(),
    organization_id: Uuid,
    pass_threshold: z.int(),
    slug: z.string(),
    updated_at: Timestamp,
    revision: z.int(),
  })
  .meta({ id: "EvalSuite" })

/** Shown by a read; taken back by an update as they were. */
export const readOnlySuiteFields = ["id", "organization_id", "created_by_user_id", "created_at", "updated_at", "revision"] as const

export function shownSuite({ organization_id = "", ...suite }: StoredSuite) {
  return { ...suite, organization_id }
}

/** Characters. */
export const maxInput = 50_000

export const caseFields = {
  input: z.string().min(1).max(maxInput).describe("What the agent is given."),
  expectation: z.string().trim().min(1).max(10_000).describe("What a right answer does."),
  rubric: z.string().trim().max(10_000).describe("How the judge is to weigh it; may be empty."),
  critical: z.boolean().describe("One failed answer fails the run, however high the score."),
}

export const CaseResource = z
  .object({
    id: Uuid,
    slug: z.string(),
    name: z.string(),
    input: z.string(),
    expectation: z.string(),
    rubric: z.string(),
    critical: z.boolean(),
    source: z
      .discriminatedUnion("kind", [
        z.object({ kind: z.literal("event"), pipeline_slug: z.string(), execution_id: z.string() }),
        z.object({ kind: z.literal("page"), page_id: z.string(), variant_key: z.string() }),
      ])
      .nullable()
      .describe("What it was made of; null where it was written."),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "EvalCase" })

export function shownCase({ organization_id: _organization, suite_id: _suite, ...shown }: StoredCase) {
  return shown
}

export const bySuite = { suite: SlugOrId.describe("Slug, former slug or UUID of the suite.") }
export const ExpectedRevision = z.int().optional().describe("Revision that the change was made for; refused when there is a newer one.")

/** Calls that examples are given. */
export const madeSuite = { suite: "evals.create_suite" }
export const ofThatSuite = { suite: resultOf("suite.suite.slug") }
export const madeCase = {
  operation: "evals.create_case",
  input: { ...ofThatSuite, name: "Opening hours", input: "When are you open?", expectation: "Says Monday to Friday, 9 to 17." },
}
