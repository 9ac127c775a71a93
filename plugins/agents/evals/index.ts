// Evals: a model judges an agent's answers to known cases and detects regressions.
import { Clock, definePlugin, injected, Live, type PluginCommand, Store, UnitsOfWork } from "#core"
import { serviceOptions } from "#core/engine"
import { Pages } from "../../pages/pages/index.ts"
import { Organizations, type TimeZoneHook, TimeZoneHooks } from "../../platform/organizations/index.ts"
import { Models } from "../models/index.ts"
import { AskAgents } from "../threads/index.ts"
import { Canary, checkWidget, watchWidget } from "./canary/canary.ts"
import { CanaryCollection } from "./canary/collection.ts"
import { configureWidgetCanary, getWidgetCanary } from "./operations/canary.ts"
import { captureCase } from "./operations/capture.ts"
import { acceptRun, getRun, listAnswers, listRuns, startRun } from "./operations/runs.ts"
import { reasons } from "./reasons.ts"
import { AnswerCollection, evalsChannel, RunCaseCollection, RunCollection } from "./runs/collections.ts"
import { nightlyRun, playRun, RunsToken } from "./runs/jobs.ts"
import { Runs } from "./runs/run.ts"
import { EvalConfig, EvalSettings } from "./settings.ts"
import { EvalCases, EvalSuites, NightlyRuns, suitesAtNight } from "./suites.ts"

/** `millrace evals …`, beside the generated commands. Their code is imported on the first call. */
const evalCommands: readonly PluginCommand[] = [
  {
    name: "run",
    group: { name: "evals", summary: "Eval suites: agents asked known cases, and judged." },
    summary: "Run an eval suite to its end. Exit code 0 when it passed, 1 when it failed, 2 when it has no verdict.",
    arguments: [{ name: "<suite>", summary: "slug or UUID of the suite" }],
    options: [
      { flags: "--repeats <number>", summary: "how often each case is asked; the service's setting unless given" },
      { flags: "--junit <file>", summary: "write the verdicts as JUnit XML as well" },
      { flags: "--json", summary: "print the run as JSON" },
      ...serviceOptions,
    ],
    run: async (options, context) => (await import("./commands/run.ts")).runSuite(options, context),
  },
]

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
