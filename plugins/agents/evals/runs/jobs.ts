// The jobs of runs. A job plays the whole run and resumes after a retry. Another job starts the nightly run.
import { Clock, defineJob, Ids, JobQueue, Live, Store, token } from "#core"
import { Models } from "../../models/index.ts"
import { unjudged } from "../judging/judge.ts"
import { EvalConfig } from "../settings.ts"
import { EvalSuites } from "../suites.ts"
import { evalsChannel, nightlyRef, runRef } from "./collections.ts"
import type { Runs } from "./run.ts"
import { RunStarts } from "./start.ts"

export const RunsToken = token<Runs>("EvalRuns")

export const playRun = defineJob(runRef, {
  summary: "Ask an agent the cases of an eval suite, and have the answers judged.",
  inject: { runs: RunsToken },
  run: ({ payload, deps, organization = "", work, signal, last }) => deps.runs.play(work, organization, payload.run_id, { signal, last }),
  exhausted: ({ payload, deps, organization = "", work }, error) => deps.runs.giveUp(work, organization, payload.run_id, error),
})

export const nightlyRun = defineJob(nightlyRef, {
  summary: "Begin the nightly run of an eval suite.",
  inject: {
    store: Store,
    clock: Clock,
    ids: Ids,
    queue: JobQueue,
    live: Live,
    models: Models,
    settings: EvalConfig,
  },
  async run({ payload: { suite_id }, deps, organization = "", work }) {
    const suite = await EvalSuites.items.find(deps.store, organization, suite_id)
    if (!suite?.cron_enabled) return
    await new RunStarts(deps).stage(work, organization, suite, { cause: "nightly" })
  },
  async exhausted({ payload: { suite_id }, deps, organization = "", work, log }, error) {
    const suite = await EvalSuites.items.find(deps.store, organization, suite_id)
    log.error({ suite: suite?.slug ?? suite_id, err: error }, "the nightly run of an eval suite could not begin")
    const data = { suite_slug: suite?.slug ?? "", reason: unjudged(error).reason }
    deps.live.stage(work, organization, { channel: evalsChannel.name, event: "nightly_run_refused", data })
  },
})
