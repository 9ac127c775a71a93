// What an operator can set about experiments.
import { z } from "zod"
import { token } from "#core"

export const ExperimentSettings = z.strictObject({
  sync_deadline_ms: z.int().min(0).max(110_000).default(20_000).describe("How long the call that starts a panel waits for its end."),
  panel_slots: z.int().min(1).max(256).default(8).describe("Cells of panels at once on this node."),
  tournament_slots: z.int().min(1).max(64).default(4).describe("Tournaments at once on this node."),
  render_pages: z
    .boolean()
    .default(true)
    .describe("Whether models are shown pages as Chromium renders them; false: their text is read from the HTML, scripts not run."),
  max_panel_cells: z.int().min(1).max(100_000).default(2_000).describe("Personas x variants x draws of one panel."),
})

export type ExperimentSettings = z.output<typeof ExperimentSettings>

export const ExperimentConfig = token<ExperimentSettings>("experiment settings")
