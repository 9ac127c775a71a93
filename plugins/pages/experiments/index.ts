// Experiments on page variants: evidence of several kinds on one ledger.
import { Clock, definePlugin, Ids, Live, Store, UnitsOfWork } from "#core"
import { Models } from "../../agents/models/index.ts"
import { Buckets } from "../../data/buckets/index.ts"
import { Datasets } from "../../data/datasets/index.ts"
import { PageAnalytics } from "../page-analytics/index.ts"
import { Pages } from "../pages/index.ts"
import { Screenshots } from "../screenshots/index.ts"
import { ObservationCollection } from "./collections.ts"
import { experimentCommands } from "./commands/commands.ts"
import { ExperimentResource } from "./experiment.ts"
import { createExperiments, Experiments } from "./experiments.ts"
import { createJudges, Judges } from "./judges/judges.ts"
import { createLedger, experimentsChannel, Ledger } from "./ledger.ts"
import { createLiveEvidenceReader, LiveEvidenceReader } from "./live/reader.ts"
import { allocateWeights, LiveTicks, LiveTicksToken, recordDay } from "./live/ticks.ts"
import { decideExperiment } from "./operations/decide.ts"
import { archiveExperiment, startExperiment } from "./operations/experiments.ts"
import { listJudges } from "./operations/judges.ts"
import { getLiveEvidence } from "./operations/live.ts"
import { correctObservation, listObservations, recordFeedback } from "./operations/observations.ts"
import { startPanel } from "./operations/panel.ts"
import { exportReport, getReport } from "./operations/report.ts"
import { runTournament } from "./operations/tournament.ts"
import { PanelToken, panelCell, panelEnd } from "./panel/jobs.ts"
import { Panel } from "./panel/panel.ts"
import { Personas } from "./personas.ts"
import { reasons } from "./reasons.ts"
import { createReports, Reports } from "./report/reports.ts"
import { RunCollection } from "./runs.ts"
import { ExperimentConfig, ExperimentSettings } from "./settings.ts"
import { playTournament, TournamentToken } from "./tournament/jobs.ts"
import { Tournament } from "./tournament/tournament.ts"
import { VariantViews, VariantViewsToken } from "./variant-views.ts"

export default definePlugin({
  id: "experiments",
  reasons,
  needs: ["buckets", "datasets", "models", "page-analytics", "pages", "screenshots"],
  config: ExperimentSettings,
  commands: experimentCommands,
  register(registrar, config) {
    registrar.collections(ObservationCollection, RunCollection)
    registrar.channels(experimentsChannel)
    registrar.operations(startExperiment, archiveExperiment)
    registrar.operations(listObservations, correctObservation, recordFeedback)
    registrar.resources(ExperimentResource, Personas)
    registrar.provide(Experiments, { inject: { store: Store, clock: Clock }, create: createExperiments })
    registrar.operations(startPanel, runTournament)
    registrar.operations(listJudges, getReport, exportReport)
    registrar.provide(Judges, { inject: { store: Store }, create: createJudges })
    registrar.provide(Reports, { inject: { store: Store, experiments: Experiments, live: LiveEvidenceReader }, create: createReports })
    registrar.jobs({ ...panelCell, slots: config.panel_slots }, panelEnd, { ...playTournament, slots: config.tournament_slots })
    registrar.provide(ExperimentConfig, { create: () => config })
    registrar.provide(VariantViewsToken, {
      inject: { pages: Pages, screenshots: Screenshots, buckets: Buckets },
      create: (deps) => new VariantViews({ ...deps, renders: config.render_pages }),
    })
    registrar.provide(PanelToken, {
      inject: { store: Store, clock: Clock, models: Models, experiments: Experiments, ledger: Ledger, views: VariantViewsToken },
      create: (deps) => new Panel(deps),
    })
    registrar.provide(TournamentToken, {
      inject: {
        store: Store,
        clock: Clock,
        works: UnitsOfWork,
        live: Live,
        models: Models,
        experiments: Experiments,
        ledger: Ledger,
        views: VariantViewsToken,
      },
      create: (deps) => new Tournament(deps),
    })
    registrar.operations(getLiveEvidence, decideExperiment)
    registrar.jobs(recordDay, allocateWeights)
    registrar.provide(LiveEvidenceReader, {
      inject: { pages: Pages, analytics: PageAnalytics, datasets: Datasets },
      create: createLiveEvidenceReader,
    })
    registrar.provide(LiveTicksToken, {
      inject: { store: Store, clock: Clock, experiments: Experiments, ledger: Ledger, live: LiveEvidenceReader, pages: Pages },
      create: (deps) => new LiveTicks(deps),
    })
    registrar.provide(Ledger, { inject: { clock: Clock, ids: Ids, live: Live }, create: createLedger })
  },
})
