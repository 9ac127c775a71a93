// Experiments on page variants: evidence of several kinds on one ledger.
import { Clock, definePlugin, type PluginCommand, Store } from "#core"
import { ObservationCollection } from "./collections.ts"
import { createExperiments, ExperimentResource, Experiments } from "./experiment.ts"
import { createJudges, Judges } from "./judges/judges.ts"
import { createLedger, experimentsChannel, Ledger, ledgerNeeds } from "./ledger.ts"
import { createLiveEvidenceReader, LiveEvidenceReader, liveEvidenceReaderNeeds } from "./live/reader.ts"
import { allocateWeights, LiveTicks, recordDay } from "./live/ticks.ts"
import { decideExperiment } from "./operations/decide.ts"
import { archiveExperiment, startExperiment } from "./operations/experiments.ts"
import { listJudges } from "./operations/judges.ts"
import { getLiveEvidence } from "./operations/live.ts"
import { correctObservation, listObservations, recordFeedback } from "./operations/observations.ts"
import { startPanel } from "./operations/panel.ts"
import { exportReport, getReport } from "./operations/report.ts"
import { runTournament } from "./operations/tournament.ts"
import { ExperimentConfig, ExperimentSettings, Panel, PanelToken, panelCell, panelEnd } from "./panel/panel.ts"
import { Personas } from "./personas.ts"
import { reasons } from "./reasons.ts"
import { createReports, Reports, reportsNeeds } from "./report/reports.ts"
import { RunCollection } from "./runs.ts"
import { playTournament, Tournament, TournamentToken } from "./tournament/tournament.ts"
import { VariantViews } from "./variant-views.ts"

/** `millrace experiments …`, in addition to the commands of operations. Each command loads its code when called. */
const experimentCommands: readonly PluginCommand[] = [
  {
    name: "fit",
    group: { name: "experiments", summary: "Experiments on page variants." },
    summary: "Rank keys by comparisons of two each; needs no service.",
    options: [
      {
        flags: "--file <file>",
        summary: 'a JSON array of { "a", "b", "winner": "a" | "b" | "tie", "count"? }, or CSV with these columns; - reads standard input',
        mandatory: true,
      },
      {
        flags: "--model <model>",
        summary: "bradley-terry counts a tie as half a win of each; davidson has a parameter for ties",
        choices: ["bradley-terry", "davidson"],
        default: "bradley-terry",
      },
      { flags: "--json", summary: "print the result as JSON" },
    ],
    run: async (options) => (await import("./commands/fit.ts")).fitFile(options),
  },
]

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
    registrar.provide(Reports, { inject: reportsNeeds, create: createReports })
    registrar.jobs({ ...panelCell, slots: config.panel_slots }, panelEnd, { ...playTournament, slots: config.tournament_slots })
    registrar.provide(ExperimentConfig, { create: () => config })
    registrar.provide(VariantViews, { create: (deps) => new VariantViews({ ...deps, renders: config.render_pages }) })
    registrar.provide(PanelToken, {
      inject: Panel.inject,
      create: (deps) => new Panel(deps),
    })
    registrar.provide(TournamentToken, {
      inject: Tournament.inject,
      create: (deps) => new Tournament(deps),
    })
    registrar.operations(getLiveEvidence, decideExperiment)
    registrar.jobs(recordDay, allocateWeights)
    registrar.provide(LiveEvidenceReader, {
      inject: liveEvidenceReaderNeeds,
      create: createLiveEvidenceReader,
    })
    registrar.provide(LiveTicks)
    registrar.provide(Ledger, { inject: ledgerNeeds, create: createLedger })
  },
})
