// The jobs of a panel: one a cell, and one that waits for all of them.
import { z } from "zod"
import { AppError, defineJob, token } from "#core"
import type { Panel } from "./panel.ts"

export const PanelToken = token<Panel>("Panel")

const retry = { max_attempts: 3, initial_delay_ms: 1_000, factor: 4, max_delay_ms: 60_000 }

export const panelCell = defineJob({
  type: "experiments.panel_cell",
  summary: "Have a persona read a variant.",
  payload: z.strictObject({ run_id: z.string(), persona: z.string(), variant: z.string(), draw: z.int() }),
  retry,
  timeoutMs: 180_000,
  inject: { panel: PanelToken },
  async run({ payload, deps, organization = "", work, signal }) {
    try {
      await deps.panel.cell(work, organization, payload, signal)
    } catch (error) {
      if (!isFinal(error)) throw error
      await deps.panel.failed(work, organization, payload, error)
    }
  },
  exhausted: ({ payload, deps, organization = "", work }, error) => deps.panel.failed(work, organization, payload, error),
})

export const panelEnd = defineJob({
  type: "experiments.panel_end",
  summary: "Sum a panel up when all of its cells are there.",
  payload: z.strictObject({ run_id: z.string() }),
  inject: { panel: PanelToken },
  run: ({ payload, deps, organization = "", work }) => deps.panel.finish(work, organization, payload.run_id),
})

/** Failures that a retry does not mend. A malformed answer is retried: the next one may be well formed. */
function isFinal(error: unknown): boolean {
  return error instanceof AppError && error.details["retryable"] === false && error.details.reason !== "model_malformed"
}
