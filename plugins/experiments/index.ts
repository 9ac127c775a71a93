// Experiments on page variants: evidence of several kinds on one ledger.
import { Clock, definePlugin, Ids, Live, Store, UnitsOfWork } from "#core"
import { Buckets } from "../buckets/index.ts"
import { Models } from "../models/index.ts"
import { Pages } from "../pages/index.ts"
import { Screenshots } from "../screenshots/index.ts"
import { ExperimentCollection, ObservationCollection, PersonaCollection } from "./collections.ts"
import { experimentCommands } from "./commands/commands.ts"
import { createExperiments, Experiments } from "./experiments.ts"
import { createLedger, experimentsChannel, Ledger } from "./ledger.ts"
import {
  archiveExperiment,
  createExperiment,
  getExperiment,
  listExperiments,
  startExperiment,
  updateExperiment,
} from "./operations/experiments.ts"
import { correctObservation, listObservations, recordFeedback } from "./operations/observations.ts"
import { startPanel } from "./operations/panel.ts"
import { createPersona, deletePersona, getPersona, listPersonas, updatePersona } from "./operations/personas.ts"
import { runTournament } from "./operations/tournament.ts"
import { PanelToken, panelCell, panelEnd } from "./panel/jobs.ts"
import { Panel } from "./panel/panel.ts"
import { reasons } from "./reasons.ts"
import { RunCollection } from "./runs.ts"
import { ExperimentConfig, ExperimentSettings } from "./settings.ts"
import { playTournament, TournamentToken } from "./tournament/jobs.ts"
import { Tournament } from "./tournament/tournament.ts"
import { VariantViews, VariantViewsToken } from "./variant-views.ts"

export default definePlugin({
  id: "experiments",
  reasons,
  needs: ["buckets", "models", "pages", "screenshots"],
  config: ExperimentSettings,
  commands: experimentCommands,
  register(registrar, config) {
    registrar.collections(ExperimentCollection, ObservationCollection, PersonaCollection, RunCollection)
    registrar.channels(experimentsChannel)
    registrar.operations(createExperiment, listExperiments, getExperiment, updateExperiment, startExperiment, archiveExperiment)
    registrar.operations(listObservations, correctObservation, recordFeedback)
    registrar.operations(createPersona, listPersonas, getPersona, updatePersona, deletePersona)
    registrar.provide(Experiments, { inject: { store: Store, clock: Clock }, create: createExperiments })
    registrar.operations(startPanel, runTournament)
    registrar.jobs({ ...panelCell, slots: config.panel_slots }, panelEnd, { ...playTournament, slots: config.tournament_slots })
    registrar.provide(ExperimentConfig, { create: () => config })
    registrar.provide(VariantViewsToken, {
      inject: { pages: Pages, screenshots: Screenshots, buckets: Buckets },
      create: (deps) => new VariantViews(deps),
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
    registrar.provide(Ledger, { inject: { clock: Clock, ids: Ids, live: Live }, create: createLedger })
  },
})
