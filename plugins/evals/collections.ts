// What is kept of evals beside their runs: suites with their slugs, and the cases of a suite.
import { type Document, defineCollection } from "#core"

export interface StoredSuite extends Document {
  slug: string
  name: string
  description: string
  agent_key: string
  /** Name of a configured model; empty: the one that is configured for judging. */
  judge_model: string
  /** Percent. */
  pass_threshold: number
  evaluate_artifact: boolean
  cron_enabled: boolean
  /** Null where a service principal made it. */
  created_by_user_id: string | null
  revision: number
  created_at: string
  updated_at: string
}

export const SuiteCollection = defineCollection<StoredSuite>()({
  name: "eval_suites",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["cron_enabled"] }],
})

/** A slug that a suite has or had; `id` follows from the organization and the slug, so that each is one suite's. */
export interface StoredSuiteSlug extends Document {
  slug: string
  suite_id: string
}

export const SuiteSlugCollection = defineCollection<StoredSuiteSlug>()({
  name: "eval_suite_slugs",
  scope: "organization",
  times: [],
  indexes: [{ fields: ["suite_id"] }],
})

/** Where a case was taken from. */
export type CaseSource =
  | { kind: "event"; pipeline_slug: string; execution_id: string }
  | { kind: "page"; page_id: string; variant_key: string }

export interface StoredCase extends Document {
  suite_id: string
  slug: string
  name: string
  /** What the agent is given. */
  input: string
  /** What a right answer does. */
  expectation: string
  /** How the judge is to weigh it; may be empty. */
  rubric: string
  critical: boolean
  /** Null where it was written by hand. */
  source: CaseSource | null
  revision: number
  created_at: string
  updated_at: string
}

export const CaseCollection = defineCollection<StoredCase>()({
  name: "eval_cases",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["suite_id", "slug"], unique: true }],
})
