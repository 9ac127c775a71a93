// Stored data of runs: the run with its settings, its cases at the start, and all answers with verdicts.
import { z } from "zod"
import {
  type Clock,
  type Document,
  defineChannel,
  defineCollection,
  type Json,
  jobRef,
  type Live,
  type Store,
  type UnitsOfWork,
} from "#core"
import type { Pages } from "../../../pages/pages/index.ts"
import type { Organizations } from "../../../platform/organizations/index.ts"
import type { Models } from "../../models/index.ts"
import { type AgentContact, type AskAgents, agentSecretContext } from "../../threads/index.ts"
import type { Verdict } from "../judging/judge.ts"
import type { EvalSettings } from "../settings.ts"
import type { RunVerdict } from "./report.ts"

export const evalsChannel = defineChannel({
  name: "evals",
  scope: "evals:read",
  summary: "Runs of eval suites as they begin, judge and end, and alarms of the widget canary.",
})

export const runCauses = ["manual", "nightly"] as const

export interface Acceptance {
  by: string
  reason: string
  at: string
}

export interface StoredRun extends Document {
  suite_id: string
  suite_slug: string
  status: "running" | "completed"
  cause: (typeof runCauses)[number]
  repeats: number
  /** Settings at the start of the run. A later change of the suite does not change the verdict. */
  pass_threshold: number
  evaluate_artifact: boolean
  judge_model: string
  /** `<model>@<prompt>-v<version>`. */
  judge: string
  agent: AgentContact
  case_count: number
  /** The last passing run at the start. Null if none exists. */
  baseline_run_id: string | null
  /** Null until completed. */
  verdict: RunVerdict | null
  /** True if passed, or accepted by a person. Later runs are compared with the most recent passing run. */
  is_passing: boolean
  passing_since: string | null
  accepted: Acceptance | null
  /** A RunReport. Null until completed. */
  report: Json
  cost_millicents: number
  created_at: string
  finished_at: string | null
  expires_at: string
}

export const RunCollection = defineCollection<StoredRun>()({
  name: "eval_runs",
  scope: "organization",
  times: ["created_at", "finished_at", "passing_since", "expires_at"],
  indexes: [{ fields: ["suite_id", "-id"] }, { fields: ["suite_id", "is_passing", "-passing_since"] }],
  expires: "expires_at",
  sealed: ({ agent: { id, secret } }) => [{ path: "agent.secret", sealed: secret, context: agentSecretContext(id) }],
})

/** A case at the start of a run. */
export interface StoredRunCase extends Document {
  run_id: string
  slug: string
  name: string
  input: string
  expectation: string
  rubric: string
  critical: boolean
  expires_at: string
}

export const RunCaseCollection = defineCollection<StoredRunCase>()({
  name: "eval_run_cases",
  scope: "organization",
  times: ["expires_at"],
  indexes: [{ fields: ["run_id", "slug"], unique: true }],
  expires: "expires_at",
  audit: "size",
})

/** An answer of the agent with its verdict. `id` is derived from run, case and repeat. */
export interface StoredAnswer extends Document {
  run_id: string
  case_slug: string
  repeat: number
  /** Id of the re-judged answer of another run. Null: an answer of this run. */
  judged_again: string | null
  output: string
  /** The agent's artifact as text. Null: only the output is judged. */
  artifact: string | null
  /** Null until judged. */
  verdict: Verdict | null
  reason: string
  /** Set for `could_not_judge`: the error's reason, or `cannot_judge`. Empty otherwise. */
  cause: string
  judge: string
  agent_millicents: number
  judge_millicents: number
  answered_at: string
  judged_at: string | null
  expires_at: string
}

export const AnswerCollection = defineCollection<StoredAnswer>()({
  name: "eval_answers",
  scope: "organization",
  times: ["answered_at", "judged_at", "expires_at"],
  indexes: [{ fields: ["run_id", "id"] }, { fields: ["run_id", "case_slug", "id"] }],
  expires: "expires_at",
  audit: "size",
})

export const runRef = jobRef("evals.run", z.strictObject({ run_id: z.string() }), {
  retry: { max_attempts: 4, initial_delay_ms: 2_000, factor: 4, max_delay_ms: 60_000 },
  // Enough for 2,000 answers of a slow agent, four at once.
  timeoutMs: 7_200_000,
})

export const nightlyRef = jobRef("evals.nightly", z.strictObject({ suite_id: z.string() }), {
  retry: { max_attempts: 3, initial_delay_ms: 60_000, factor: 4, max_delay_ms: 600_000 },
})

export interface RunDeps {
  readonly store: Store
  readonly clock: Clock
  readonly works: UnitsOfWork
  readonly live: Live
  readonly models: Models
  readonly agents: AskAgents
  readonly pages: Pages
  readonly organizations: Organizations
  readonly settings: EvalSettings
}

/** Context of a try of the job. */
export interface Try {
  readonly organization: string
  readonly run: StoredRun
  readonly signal: AbortSignal
  /** True for the last try. */
  readonly last: boolean
}

/** Returns the run's reference for live messages. */
export function runReference({ id, suite_slug }: StoredRun): { run_id: string; suite_slug: string } {
  return { run_id: id, suite_slug }
}
