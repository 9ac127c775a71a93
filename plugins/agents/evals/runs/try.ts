// What a try of a run's job is given and knows, and how news name the run.
import type { Clock, Live, Store, UnitsOfWork } from "#core"
import type { Pages } from "../../../pages/pages/index.ts"
import type { Organizations } from "../../../platform/organizations/index.ts"
import type { Models } from "../../models/index.ts"
import type { AskAgents } from "../../threads/index.ts"
import type { EvalSettings } from "../settings.ts"
import type { StoredRun } from "./collections.ts"

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

/** What a try of the job knows. */
export interface Try {
  readonly organization: string
  readonly run: StoredRun
  readonly signal: AbortSignal
  /** No try follows. */
  readonly last: boolean
}

export function named({ id, suite_slug }: StoredRun): { run_id: string; suite_slug: string } {
  return { run_id: id, suite_slug }
}
