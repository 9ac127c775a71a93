// Evals: what an agent answers to known cases, judged by a model, and whether it got worse.
import { Clock, definePlugin, injected, Live, Store, UnitsOfWork } from "#core"
import { Pages } from "../../pages/pages/index.ts"
import { Organizations, type TimeZoneHook, TimeZoneHooks } from "../../platform/organizations/index.ts"
import { Models } from "../models/index.ts"
import { AskAgents } from "../threads/index.ts"
import { Canary } from "./canary/canary.ts"
import { CanaryCollection } from "./canary/collection.ts"
import { checkWidget, watchWidget } from "./canary/jobs.ts"
import { evalsChannel } from "./channel.ts"
import { evalCommands } from "./commands/commands.ts"
import { NightlyRuns } from "./nightly-runs.ts"
import { configureWidgetCanary, getWidgetCanary } from "./operations/canary.ts"
import { captureCase } from "./operations/capture.ts"
import { acceptRun, getRun, listAnswers, listRuns, startRun } from "./operations/runs.ts"
import { reasons } from "./reasons.ts"
import { AnswerCollection, RunCaseCollection, RunCollection } from "./runs/collections.ts"
import { nightlyRun, playRun, RunsToken } from "./runs/jobs.ts"
import { Runs } from "./runs/run.ts"
import { EvalConfig, EvalSettings } from "./settings.ts"
import { EvalCases, EvalSuites, suitesAtNight } from "./suites.ts"

export default definePlugin({
  id: "evals",
  reasons,
  needs: ["event-pipelines", "models", "organizations", "pages", "screenshots", "threads"],
  config: EvalSettings,
  commands: evalCommands,
  extend: [
    [
      TimeZoneHooks,
      injected(
        { store: Store, nightly: NightlyRuns },
        ({ store, nightly }): TimeZoneHook =>
          async (work, { id, time_zone }) => {
            for await (const suite of suitesAtNight(store, id)) await nightly.schedule(work, id, suite, time_zone)
          },
      ),
    ],
  ],
  register(registrar, config) {
    registrar.resources(EvalSuites, EvalCases)
    registrar.collections(RunCollection, RunCaseCollection, AnswerCollection, CanaryCollection)
    registrar.channels(evalsChannel)
    registrar.operations(captureCase, startRun, listRuns, getRun, listAnswers, acceptRun)
    registrar.operations(getWidgetCanary, configureWidgetCanary)
    registrar.jobs({ ...playRun, slots: config.run_slots }, nightlyRun, watchWidget, checkWidget)
    registrar.provide(EvalConfig, { create: () => config })
    registrar.provide(NightlyRuns, { create: (deps) => new NightlyRuns({ ...deps, settings: config }) })
    registrar.provide(RunsToken, {
      inject: {
        store: Store,
        clock: Clock,
        works: UnitsOfWork,
        live: Live,
        models: Models,
        agents: AskAgents,
        pages: Pages,
        organizations: Organizations,
      },
      create: (deps) => new Runs({ ...deps, settings: config }),
    })
    registrar.provide(Canary)
  },
})
