// Shared parts of the operations that start panels and tournaments: dependencies, and the commit of a run.
import { type Caller, Clock, JobQueue, Store, timestamp, type UnitOfWork, UnitsOfWork } from "#core"
import { Models } from "../../../agents/models/index.ts"
import type { ExperimentVariant, StoredExperiment } from "../collections.ts"
import { Experiments } from "../experiment.ts"
import { RunCollection, type StoredRun } from "../runs.ts"
import { VariantViews } from "../variant-views.ts"

export interface RunDeps {
  readonly store: Store
  readonly clock: Clock
  readonly queue: JobQueue
  readonly works: UnitsOfWork
  readonly models: Models
  readonly experiments: Experiments
  readonly views: VariantViews
}

export const runTokens = {
  store: Store,
  clock: Clock,
  queue: JobQueue,
  works: UnitsOfWork,
  models: Models,
  experiments: Experiments,
  views: VariantViews,
}

/** A call that starts a run. */
export interface RunCall {
  readonly caller: Caller
  readonly experiment: StoredExperiment
  /** The call's id. It becomes the run's id. */
  readonly id: string
  /** The input as canonical JSON. */
  readonly asked: string
  /** The participating variants. */
  readonly variants: ExperimentVariant[]
}

type OwnFields = Pick<StoredRun, "kind" | "texts"> &
  Partial<Pick<StoredRun, "personas" | "skipped_personas" | "draws" | "judge_slug" | "criteria" | "max_comparisons">>

export function newRun({ experiment, id, asked, variants }: RunCall, now: number, own: OwnFields): StoredRun {
  return {
    id,
    experiment_id: experiment.id,
    asked,
    variants,
    screenshots: {},
    status: "running",
    result: null,
    created_at: timestamp(now),
    finished_at: null,
    ...own,
  }
}

/** Commits a run with its jobs from `enqueue` and its render jobs, before the first model request. */
export async function commitRun(
  { works, views }: RunDeps,
  { caller, experiment }: RunCall,
  run: StoredRun,
  enqueue: (work: UnitOfWork) => void,
): Promise<StoredRun> {
  return await works.run(async (work) => {
    const started = { ...run, screenshots: await views.render(work, caller, experiment, run.variants) }
    work.in(RunCollection, caller.organization.id).insert(started)
    enqueue(work)
    return started
  })
}
